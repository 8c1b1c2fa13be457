"""A FastAPI app with one route for each report of a broken stream. `app` serves a subprocess, `make_app` a test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, BackgroundTasks, FastAPI, Request, Response
from fastapi.responses import StreamingResponse

GAP = 0.2
"""Seconds between two events of `/spread`."""
LOCK = asyncio.Lock()

router = APIRouter()


@router.get("/spread")
async def spread() -> StreamingResponse:
    async def events() -> AsyncIterator[bytes]:
        for number in range(4):
            yield b"data: %d\n\n" % number
            await asyncio.sleep(GAP)

    return StreamingResponse(events(), media_type="text/event-stream")


@router.get("/items/")
async def items() -> dict[str, str]:
    return {"a": "b"}


@router.get("/background")
async def background(request: Request, tasks: BackgroundTasks) -> str:
    async def work() -> None:
        await asyncio.sleep(0.4)
        request.app.state.done.append("work")

    tasks.add_task(work)
    return "ok"


@router.get("/lock")
async def lock(request: Request) -> int:
    """Uses things that belong to the loop of their first use."""
    async with LOCK:
        event: asyncio.Event = request.app.state.event
        waiting = asyncio.ensure_future(event.wait())
        await asyncio.sleep(0)
        event.set()
        await waiting
        event.clear()
    return id(asyncio.get_running_loop())


@router.get("/mid")
async def mid(depth: int = 0) -> StreamingResponse:
    async def events() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        fail(depth)

    return StreamingResponse(events(), media_type="text/event-stream")


def fail(depth: int) -> None:
    if depth:
        fail(depth - 1)
    raise ValueError("in the middle " + "x" * 3_000)


@router.get("/early")
async def early() -> None:
    raise ValueError("secret")


@router.get("/cookies")
async def cookies(request: Request, response: Response) -> dict[str, str]:
    response.set_cookie("a", "1")
    response.set_cookie("b", "2")
    return dict(request.cookies)


@router.get("/nothing", status_code=204)
async def nothing() -> None:
    return None


@router.post("/echo")
async def echo(request: Request) -> Response:
    return Response(await request.body(), media_type="application/octet-stream")


@router.get("/disconnected")
async def disconnected(request: Request) -> bool:
    return await request.is_disconnected()


@router.get("/pid")
async def pid(request: Request) -> dict[str, int | str]:
    return {"pid": os.getpid(), "request": request.scope["aws.context"].aws_request_id, "started": request.state.started}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
    """Says on stdout when it ends; fails to start if `$LIFESPAN_FAILS`."""
    if "LIFESPAN_FAILS" in os.environ:
        raise RuntimeError("no start today")
    yield {"started": "yes"}
    print("lifespan shutdown", flush=True)


def make_app() -> FastAPI:
    made = FastAPI(lifespan=lifespan)
    made.include_router(router)
    made.state.done = []
    made.state.event = asyncio.Event()
    return made


app = make_app()
