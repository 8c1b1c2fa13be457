"""A function URL that says what a test tells it to, beside the page's own files."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

PAGE = Path(__file__).parents[2] / "functions" / "web" / "page"
STARTS_WITHIN = 10.0  # seconds

# A step of a reply: an event to send, a gate that the test opens when it has seen enough, a pause in seconds,
# or BREAK (the connection is cut there).
BREAK = "break"
Gate = threading.Event
Step = Mapping[str, Any] | Gate | float | str


@dataclass(frozen=True, slots=True)
class Reply:
    """What one POST is answered with. `status` other than 200: `error` as JSON instead of a stream. `live`: a connect that finds a run."""

    steps: tuple[Step, ...] = ()
    status: int = 200
    error: Mapping[str, str] | None = None
    live: bool = False


@dataclass(slots=True)
class Mock:
    """Replies are used up in order: `runs` for POST <url>, `connects` for POST <url>connect. `seen` holds (path, body) of every POST."""

    agents: list[dict[str, Any]]
    runs: deque[Reply] = field(default_factory=deque)
    connects: deque[Reply] = field(default_factory=deque)
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    others: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)  # (method, path?query) → status and body of other calls
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)  # those calls, with their bodies
    titles: dict[str, str] = field(default_factory=dict)  # of threads; one that is not there has the title "Untitled"
    title_refused: bool = False
    unhashed: list[str] = field(default_factory=list)  # method and path of requests whose body came without its SHA-256
    stops: int = 404  # the status of a stop
    stopped: list[str] = field(default_factory=list)  # its paths
    left: int = 0  # how many clients went away in the middle of a stream

    def forget(self) -> None:
        """As it was at first, but for its agents."""
        new = Mock(self.agents)
        for each in fields(self):
            setattr(self, each.name, getattr(new, each.name))

    def will_stream(self, *steps: Step) -> None:
        """The next run streams these steps, RUN_STARTED first."""
        self.runs.append(Reply(({"type": "RUN_STARTED"}, *steps)))

    def will_replay(self, *steps: Step) -> None:
        """The next connect streams these steps, RUN_STARTED first."""
        self.connects.append(Reply(({"type": "RUN_STARTED"}, *steps)))

    def will_replay_live(self, *steps: Step) -> None:
        """The next connect finds a run at work, and streams these steps of it."""
        self.connects.append(Reply(({"type": "RUN_STARTED"}, *steps), live=True))

    def will_refuse(self, status: int, code: str, message: str) -> None:
        """The next run is refused before any stream."""
        self.runs.append(Reply(status=status, error={"code": code, "message": message}))

    def bodies(self, path: str = "") -> list[dict[str, Any]]:
        """Bodies of the POSTs whose path ended in `path` (""= a run)."""
        return [body for seen, body in self.seen if seen == path]

    async def answer(self, request: Request) -> _Answer | Response:
        await self._check_hash(request)
        path = request.path_params["path"]
        if path.endswith("/stop"):
            self.stopped.append(path)
            return JSONResponse({}, self.stops)
        if path.startswith("kb"):
            return await self._other(request, f"{path}?{request.url.query}" if request.url.query else path)
        body = await request.json()
        self.seen.append((path, body))
        if path == "connect" and not (self.connects and self.connects[0].live):
            body = {**body, "runId": f"connect-{body['runId']}"}  # as the server names what is no run
        replies = self.connects if path else self.runs
        return _Answer(
            self, replies.popleft() if replies else Reply(status=404, error={"code": "NOT_FOUND", "message": "no such thread"}), body
        )

    async def _check_hash(self, request: Request) -> None:
        """CloudFront signs the header, and Lambda behind it compares it with the body."""
        body = await request.body()
        if body and request.headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            self.unhashed.append(f"{request.method} {request.url.path}")

    async def _other(self, request: Request, path: str) -> Response:
        self.asked.append((request.method, path, await request.body()))
        status, said = self.others.get((request.method, path), (404, '{"error": {"code": "NOT_FOUND", "message": "Not there."}}'))
        return Response(said, status)

    async def title(self, request: Request) -> JSONResponse:
        """`GET` and `PATCH threads/<id>`."""
        await self._check_hash(request)
        thread = request.path_params["thread"]
        if request.method == "PATCH":
            if self.title_refused:
                return JSONResponse({"error": {"code": "BAD_INPUT", "message": "title: no"}}, 422)
            self.titles[thread] = (await request.json())["title"]
        given = thread in self.titles
        title = self.titles.get(thread, "Untitled")
        return JSONResponse({"threadId": thread, "title": title, "titledBy": "user" if given else "rule"})


@dataclass(slots=True)
class _Answer:
    """An ASGI response that sends a reply's steps with their pauses, or breaks off."""

    mock: Mock
    reply: Reply
    body: dict[str, Any]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.reply.status != 200:
            await JSONResponse({"error": self.reply.error}, self.reply.status)(scope, receive, send)
            return
        stream = asyncio.ensure_future(self._stream(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        await asyncio.wait({stream, gone}, return_when=asyncio.FIRST_COMPLETED)
        self.mock.left += not stream.done()
        for task in (stream, gone):
            task.cancel()
        await asyncio.gather(stream, gone, return_exceptions=True)

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for step in self.reply.steps:
            if step == BREAK:
                return  # without the last chunk: uvicorn cuts the connection
            await self._step(step, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _step(self, step: Step, send: Send) -> None:
        if isinstance(step, Mapping):
            frame = f"data: {json.dumps(self._complete(step), ensure_ascii=False)}\n\n"
            await send({"type": "http.response.body", "body": frame.encode(), "more_body": True})
        elif isinstance(step, float):
            await asyncio.sleep(step)
        elif isinstance(step, Gate):
            while not await asyncio.to_thread(step.wait, 0.05):  # in slices: a gate that never opens must not outlive the stream
                continue

    def _complete(self, event: Mapping[str, Any]) -> dict[str, Any]:
        if event["type"] not in ("RUN_STARTED", "RUN_FINISHED"):
            return dict(event)
        return {**event, "threadId": self.body["threadId"], "runId": self.body["runId"]}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def mock_app(mock: Mock) -> Starlette:
    """The page at `/`, its config at `/config.json`, a function URL at `/agents/<name>/`."""

    async def config(_: Request) -> JSONResponse:
        return JSONResponse({"agents": mock.agents})

    return Starlette(
        routes=[
            Route("/config.json", config),
            Route("/agents/{name}/threads/{thread}", mock.title, methods=["GET", "PATCH"]),
            Route("/agents/{name}/{path:path}", mock.answer, methods=["GET", "POST", "DELETE"]),
            Mount("/", _CachedFiles(directory=PAGE, html=True)),
        ]
    )


class _CachedFiles(StaticFiles):
    """The page's files do not change while tests run: a tab after the first need not ask for them again."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "max-age=600"
        return response


@contextmanager
def served(mock: Mock, port: int = 0) -> Iterator[str]:
    """Serves the mock in a thread; its address, with a slash at the end."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        config = uvicorn.Config(mock_app(mock), log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        _wait(server)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(STARTS_WITHIN)


def _wait(server: uvicorn.Server) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while not server.started:
        if time.monotonic() > deadline:
            raise TimeoutError("the mock did not start")
        time.sleep(0.01)
