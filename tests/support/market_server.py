"""The sample market's MCP server on a real socket, which a test can slow down, break, empty, stop and start again."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from graphs.tushare.sample import SampleMarket
from infra.local.market import PATH, market_app

TOKEN = "right-token"
TODAY = date(2026, 11, 30)
STARTS_WITHIN = 10.0  # seconds


class FaultyMarket(SampleMarket):
    """`answer`: what `daily` says instead of its rows; an exception is raised."""

    answer: Any = None

    async def daily(self, ts_code: str, start_date: str = "", end_date: str = "") -> Any:
        """Daily quotes (sample data)."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return await super().daily(ts_code, start_date, end_date) if self.answer is None else self.answer


@dataclass
class MarketServer:
    """`fault`, for every request of a method (`tools/list`, `tools/call` …): `slow` never answers, a number is a status, `nonsense` no MCP.

    `asked` holds the query string and the authorization header of each request.
    """

    port: int = 0
    market: FaultyMarket = field(default_factory=lambda: FaultyMarket(lambda: TODAY))
    faults: dict[str, str | int] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    _server: uvicorn.Server | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    def start(self) -> None:
        """On the port it had before, if it had one."""
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        app = _Faults(market_app(TOKEN, self.market), self)
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._server.started:
            if time.monotonic() > deadline:
                raise TimeoutError("the market server did not start")
            time.sleep(0.01)

    def stop(self) -> None:
        if self._server and self._thread:
            self._server.should_exit = True
            self._thread.join(STARTS_WITHIN)
            self._server = self._thread = None


class _Faults:
    def __init__(self, app: ASGIApp, server: MarketServer) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        self._server.asked.append((str(request.url.query), request.headers.get("authorization", "")))
        fault = next((fault for method, fault in self._server.faults.items() if f'"{method}"'.encode() in body), None)
        if fault == "slow":
            await _until_left(receive)
        elif fault is not None:
            await _refusal(fault)(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)


def _refusal(fault: str | int) -> PlainTextResponse:
    if isinstance(fault, int):
        return PlainTextResponse("db-7.internal", fault)
    return PlainTextResponse("{not json", media_type="application/json")


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _replayed(body: bytes, receive: Receive) -> Receive:
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return first.pop() if first else await receive()

    return replay


@contextmanager
def market_server() -> Iterator[MarketServer]:
    """Running on a free port until the block ends."""
    server = MarketServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
