"""`functions.runtime.upload` on a Runtime API that times out, resets or takes its time: the app sees a disconnect, the next call works."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import pytest
from mangum.types import ASGI, Receive, Scope, Send

from functions.runtime.client import RuntimeApiError, RuntimeClient
from functions.runtime.upload import Upload
from functions.runtime.wire import connect
from infra.local.invocation import BUFFERED_BYTES
from infra.local.runtime_api import Bandwidth, FunctionError, RuntimeApi, State, TruncatedResponse
from tests.support.asgi import body, start
from tests.support.events import url_event
from tests.support.runtime import ask, collect, serving
from tests.support.runtime_faults import CountingApi, ResettingApi

MB = 1024 * 1024


def endless(seen: list[Any], pause: float = 0.01, size: int = 10) -> ASGI:
    """Streams until its client is gone; short answers for /short."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        await receive()
        await send(start())
        try:
            while scope["path"] != "/short":
                await send(body(b"x" * size, more=True))
                await asyncio.sleep(pause)
        except OSError as exc:
            seen.append(type(exc).__name__)
            seen.append((await receive())["type"])
            return
        await send(body(b"short"))

    return app


async def test_a_reset_is_a_disconnect() -> None:
    """The connection breaks after three pieces: the app's `send` raises, `receive` says so, the next invocation is served."""
    seen: list[Any] = []
    async with serving(endless(seen), lambda: ResettingApi(after=3)) as api:
        with pytest.raises(TruncatedResponse):
            await ask(api)
        assert (await ask(api, url_event("/short"))).body == b"short"
    assert seen == ["UploadBroken", "http.disconnect"]


async def test_a_reset_while_the_write_waits() -> None:
    """A write that waits for a slow reader is woken when the line drops."""
    seen: list[Any] = []
    async with serving(endless(seen, size=100_000), CountingApi) as api:
        invocation = api.invoke(url_event(), timeout_ms=600)
        await invocation.prelude()
        await asyncio.wait_for(api.waiting.wait(), 5)
        with pytest.raises(TruncatedResponse):
            await collect(invocation)
    assert seen == ["UploadBroken", "http.disconnect"]


async def test_410_before_the_first_byte(caplog: pytest.LogCaptureFixture) -> None:
    """An invocation that timed out before its answer: the post gets 410, which is logged, and the loop goes on."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(0 if scope["path"] == "/short" else 0.15)
            await send(start())
            await send(body(b"short"))

    async with serving(app) as api:
        with pytest.raises(FunctionError, match="timed out"):
            await collect(api.invoke(url_event("/slow"), timeout_ms=50))
        assert (await ask(api, url_event("/short"))).body == b"short"
    assert [record.message for record in caplog.records if "had timed out" in record.message]


async def test_an_early_answer_ends_the_stream() -> None:
    """Lambda refuses a stream while the app still writes: the app is told at its next write, not at the end."""
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/short":
            await asyncio.sleep(0.1)
        await endless(seen)(scope, receive, send)

    async with serving(app) as api:
        with pytest.raises(FunctionError):
            await collect(api.invoke(url_event(), timeout_ms=50))
        assert (await ask(api, url_event("/short"))).body == b"short"
    assert seen == ["UploadBroken", "http.disconnect"]


async def test_nobody_there_is_a_disconnect() -> None:
    """A Runtime API that cannot be reached is an `OSError` for the app as well."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
    upload = Upload(address, "/", {})
    with pytest.raises(OSError, match=r"(?i)refused|connect"):
        await upload.write(b"x")
    assert await upload.close() is None


async def test_a_slow_reader_slows_the_app() -> None:
    """With nobody reading, the app is stopped after what the buffers hold; memory does not grow, and the loop is not blocked."""
    sent: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(start())
            for _ in range(400):
                await send(body(b"x" * 100_000, more=True))
                sent.append(100_000)
            await send(body())

    async with serving(app, CountingApi) as api:
        invocation = api.invoke(url_event())
        await invocation.prelude()
        # 10 ms naps that are not late: the loop runs on while the app waits
        naps = []
        for _ in range(30):
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            naps.append(time.perf_counter() - begun)
        held = sum(sent)
        assert len((await collect(invocation)).body) == 40_000_000
    assert held < BUFFERED_BYTES + 16 * MB
    assert sorted(naps)[len(naps) // 2] < 0.1


async def test_bandwidth_is_limited_as_on_lambda() -> None:
    """After the burst the stream flows at the rate: 1 MB + 0.5 s at 2 MB/s."""
    burst = Bandwidth(rate=2 * MB, burst=MB)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(start())
            for _ in range(32):
                await send(body(b"x" * 65_536, more=True))
            await send(body())

    async with serving(app, lambda: RuntimeApi(bandwidth=burst)) as api:
        reply = await ask(api)
    assert len(reply.body) == 2 * MB
    assert 0.4 < reply.ended < 5


async def test_two_tasks_of_an_app_send_at_once() -> None:
    """The first message opens the connection; a second one sent meanwhile comes after it."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(start())
            await asyncio.gather(*(send(body(b"%d" % number, more=True)) for number in range(5)))
            await send(body())

    async with serving(app) as api:
        assert (await ask(api)).chunks == [b"0", b"1", b"2", b"3", b"4"]


async def test_nodelay() -> None:
    """Small chunks leave at once."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        _, writer = await connect(f"{host}:{port}")
        assert writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        await writer.wait_closed()


async def test_a_dead_environment_ends_the_loop() -> None:
    """403 for `next` ends the process: nothing else may be done in an environment that AWS gave up."""
    api = RuntimeApi()
    await api.start()
    api.state = State.DEAD
    with pytest.raises(RuntimeApiError, match="403"):
        await RuntimeClient(api.address).next()
    await api.close()
