"""`functions.runtime.cycle`: ASGI messages in, a prelude and chunks out. No network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any

import pytest
from mangum.types import ASGI, Message, Receive, Scope, Send

from functions.runtime.cycle import SEPARATOR, Cycle, CycleState, encode_prelude
from functions.runtime.failure import ERROR_TYPE_HEADER
from tests.support.asgi import body, scripted, start


class Recorder:
    """A sink that keeps what it gets; it breaks after `breaks_after` writes."""

    def __init__(self, breaks_after: int | None = None) -> None:
        self.parts: list[bytes] = []
        self.trailers: Mapping[str, str] | None = None
        self._left = breaks_after

    async def write(self, *parts: bytes) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise ConnectionResetError("gone")
        self.parts += parts

    async def end(self, trailers: Mapping[str, str] | None = None) -> None:
        await self.write()
        self.trailers = dict(trailers or {})

    @property
    def prelude(self) -> dict[str, Any]:
        assert self.parts[0].endswith(SEPARATOR)
        loaded: dict[str, Any] = json.loads(self.parts[0][:-8])
        return loaded

    @property
    def chunks(self) -> list[bytes]:
        return self.parts[1:]


async def run(app: ASGI, method: str = "GET", recorder: Recorder | None = None) -> tuple[Cycle, Recorder]:
    sink = recorder or Recorder()
    cycle = Cycle({"type": "http", "method": method}, b"in", sink)
    await cycle.run(app)
    return cycle, sink


@pytest.mark.parametrize(
    ("messages", "method", "status", "chunks"),
    [
        ([start(), body(b"a", more=True), body(b"b", more=True), body()], "GET", 200, [b"a", b"b"]),
        ([start(), body(b"a", more=True), body(b"b")], "GET", 200, [b"a", b"b"]),
        ([start(), body(b"", more=True), body(b"", more=True), body(b"a")], "GET", 200, [b"a"]),
        ([start(307, [("location", "/x/")]), body()], "GET", 307, [b"\n"]),
        ([start(), body(b"", more=True), body()], "GET", 200, [b"\n"]),
        ([start(204), body()], "GET", 204, []),
        ([start(304), body()], "GET", 304, []),
        ([start(204), body(b"wrong")], "GET", 204, []),
        ([start(), body(b"abc")], "HEAD", 200, [b"\n"]),
        ([start(), body(b"abc", more=True), body(b"def")], "HEAD", 200, [b"\n"]),
        ([start(204), body()], "HEAD", 204, []),
        ([{"type": "http.response.start", "status": 200}, {"type": "http.response.body"}], "GET", 200, [b"\n"]),
    ],
)
async def test_bodies(messages: list[Message], method: str, status: int, chunks: list[bytes]) -> None:
    """One chunk per message with bytes; an empty body gets one byte unless 204 or 304 (a function URL would hang); HEAD has no other."""
    cycle, sink = await run(scripted(*messages), method)
    assert (sink.prelude["statusCode"], sink.chunks, sink.trailers, cycle.state) == (status, chunks, {}, CycleState.COMPLETE)


@pytest.mark.parametrize(
    ("headers", "fields", "cookies"),
    [
        ([("Content-Type", "text/event-stream")], {"content-type": "text/event-stream"}, []),
        ([("set-cookie", "a=1"), ("Set-Cookie", "b=2; Path=/")], {}, ["a=1", "b=2; Path=/"]),
        ([("vary", "a"), ("Vary", "b")], {"vary": "a, b"}, []),
        ([("content-length", "5"), ("transfer-encoding", "chunked"), ("connection", "close")], {}, []),
        ([("x", "é\0")], {"x": "é\0"}, []),
    ],
)
async def test_headers(headers: Iterable[tuple[str, str]], fields: dict[str, str], cookies: list[str]) -> None:
    """Cookies in a list of their own, repeated headers joined, no length, and no NUL but the eight that end the prelude."""
    _, sink = await run(scripted(start(200, headers), body(b"a")))
    assert (sink.prelude["headers"], sink.prelude["cookies"]) == (fields, cookies)
    assert sink.parts[0].count(b"\0") == 8


@pytest.mark.parametrize(
    "app",
    [
        scripted(error=ValueError("secret")),
        scripted(start(), error=ValueError("secret")),
        scripted(start(), body(b"", more=True), error=ValueError("secret")),
        scripted(start(200, [("x", "y" * 17_000)]), body(b"a")),
        scripted(start()),
        scripted(),
        scripted(body(b"a")),
        scripted({"type": "http.response.push"}),
    ],
)
async def test_failures_before_the_first_byte(app: ASGI) -> None:
    """Any failure with nothing sent yet is an ordinary 500 that tells nothing."""
    _, sink = await run(app)
    assert (sink.prelude["statusCode"], sink.trailers) == (500, {})
    assert json.loads(sink.chunks[0]) == {"error": {"code": "INTERNAL_ERROR", "message": "Internal server error"}}


@pytest.mark.parametrize(
    ("app", "error_type"),
    [
        (scripted(start(), body(b"a", more=True), error=ValueError("x")), "Function.ValueError"),
        (scripted(start(), body(b"a", more=True)), "Function.IncompleteResponse"),
        (scripted(start(), body(b"a", more=True), start()), "Function.UnexpectedMessage"),
        (scripted(start(), body(b"a", more=True), error=TimeoutError()), "Function.TimeoutError"),
    ],
)
async def test_failures_after_the_first_byte(app: ASGI, error_type: str) -> None:
    """A failure in the middle is told in the trailers; the body stays what the app sent."""
    _, sink = await run(app)
    assert (sink.prelude["statusCode"], sink.chunks) == (200, [b"a"])
    assert sink.trailers is not None
    assert sink.trailers[ERROR_TYPE_HEADER] == error_type


async def test_an_app_that_cancels_itself() -> None:
    """A cancellation that leaks out of the app is a failure of the request, not the end of the environment."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    _, sink = await run(app)
    assert sink.prelude["statusCode"] == 500


async def test_failures_after_the_last_byte() -> None:
    """Background work that fails changes nothing about a complete response."""
    cycle, sink = await run(scripted(start(), body(b"a"), error=ValueError("late")))
    assert (sink.chunks, sink.trailers, cycle.state) == ([b"a"], {}, CycleState.COMPLETE)


async def test_nothing_may_be_sent_after_the_end() -> None:
    """A message after `more_body=False` raises in the app and is not sent."""
    _, sink = await run(scripted(start(), body(b"a"), body(b"b")))
    assert (sink.chunks, sink.trailers) == ([b"a"], {})


async def test_a_broken_connection_is_a_disconnect() -> None:
    """Once Lambda takes no more, `send` raises `OSError`, again and again, and `receive` says `http.disconnect`."""
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(start())
        await send(body(b"a", more=True))
        for _ in range(2):
            with pytest.raises(OSError, match=r"gone|no more"):
                await send(body(b"b", more=True))
        seen.append(await receive())

    cycle, sink = await run(app, recorder=Recorder(breaks_after=1))
    assert seen == [{"type": "http.disconnect"}]
    assert (sink.chunks, sink.trailers, cycle.state) == ([b"a"], None, CycleState.GONE)


async def test_receive_gives_the_body_once_and_then_waits() -> None:
    """After the body there is nothing to receive until the last byte is sent."""
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(await receive())
        leaving = asyncio.ensure_future(receive())
        await send(start())
        await send(body(b"a", more=True))
        await asyncio.sleep(0.01)
        seen.append(leaving.done())
        await send(body(b"b"))
        seen.append(await leaving)

    await run(app)
    assert seen == [{"type": "http.request", "body": b"in", "more_body": False}, False, {"type": "http.disconnect"}]


async def test_two_cycles_at_once() -> None:
    """State belongs to the request: two of them in one loop do not mix, nor do their context variables."""
    name: ContextVar[str] = ContextVar("name", default="")

    def app(mine: str) -> ASGI:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            assert name.get() == ""
            name.set(mine)
            await send(start(200, [("x", mine)]))
            for _ in range(3):
                await asyncio.sleep(0)
                await send(body(name.get().encode(), more=True))
            await send(body(b"."))

        return call

    (_, one), (_, two) = await asyncio.gather(run(app("1")), run(app("2")))
    assert (one.chunks, two.chunks) == ([b"1", b"1", b"1", b"."], [b"2", b"2", b"2", b"."])
    assert name.get() == ""


@pytest.mark.parametrize(("size", "fits"), [(16_200, True), (16_384, False)])
def test_prelude_limit(size: int, fits: bool) -> None:
    """Status and headers fit into 16 KB or are refused."""
    headers = [(b"x", b"y" * size)]
    if fits:
        assert len(encode_prelude(200, headers)) <= 16 * 1024
    else:
        with pytest.raises(ValueError, match="16384"):
            encode_prelude(200, headers)
