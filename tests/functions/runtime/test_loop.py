"""`functions.runtime.loop`: the life of an environment, in-process."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from mangum.types import ASGI, Receive, Scope, Send

from functions import own_event
from functions.runtime.client import RuntimeClient
from functions.runtime.loop import Environment
from infra.local.runtime_api import FunctionError, RuntimeApi
from tests.support.asgi import body, scripted, start
from tests.support.events import url_event
from tests.support.runtime import ask, collect, serving
from tests.support.streaming_app import make_app

NOT_HTTP: dict[str, Any] = {"Records": [{"eventSource": "aws:sqs"}]}


def logging_app(log: list[str]) -> ASGI:
    """Notes its lifespan and its requests; `state` from the lifespan is answered."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            log.append(scope["path"])
            scope["state"]["seen"] = scope["state"].get("seen", 0) + 1
            await scripted(start(), body(f"{scope['state']}".encode()))(scope, receive, send)
            return
        for name in ("startup", "shutdown"):
            assert (await receive())["type"] == f"lifespan.{name}"
            log.append(name)
            scope["state"]["key"] = "value"
            await send({"type": f"lifespan.{name}.complete"})

    return app


async def test_lifespan_once() -> None:
    """Startup before the first event, shutdown at the end, whatever number of requests; each gets a copy of the state."""
    log: list[str] = []
    async with serving(logging_app(log)) as api:
        replies = [await ask(api, url_event(path)) for path in ("/1", "/2")]
    assert log == ["startup", "/1", "/2", "shutdown"]
    assert [reply.body for reply in replies] == [b"{'key': 'value', 'seen': 1}"] * 2


async def test_lifespan_failure_is_an_init_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app that cannot start is reported with `init/error`, and the process exits with 1."""
    monkeypatch.setenv("LIFESPAN_FAILS", "1")
    api = RuntimeApi()
    await api.start()
    with pytest.raises(SystemExit) as stopped:
        await Environment(make_app(), RuntimeClient(api.address)).run()
    error = await api.init_error
    await api.close()
    assert (stopped.value.code, error.error_type) == (1, "Runtime.LifespanFailure")
    assert "no start today" in error.message


@pytest.mark.parametrize(
    ("event", "error_type", "message"),
    [
        (NOT_HTTP, "Runtime.UnsupportedEvent", "not from a function URL"),
        ([1], "Runtime.UnsupportedEvent", "not from a function URL"),
    ],
)
async def test_other_events_are_errors(event: Any, error_type: str, message: str) -> None:
    """What is no HTTP event is reported with `/error`, clearly, and the next event is served."""
    async with serving(make_app()) as api:
        with pytest.raises(FunctionError) as caught:
            await api.invoke(event).prelude()
        assert (await ask(api, url_event("/items/"))).prelude.status == 200
    assert caught.value.error_type == error_type
    assert message in caught.value.message


@pytest.mark.parametrize("payload", [b"{", b"\xff", b"[" * 200_000])
async def test_unreadable_events_are_errors(payload: bytes) -> None:
    """Bytes that are no JSON, or too deep for it, do not end the environment."""
    async with serving(make_app()) as api:
        invocation = api.invoke({})
        invocation.payload = payload
        with pytest.raises(FunctionError) as caught:
            await invocation.prelude()
        assert (await ask(api, url_event("/items/"))).prelude.status == 200
    assert caught.value.error_type == "Runtime.UnmarshalError"


async def test_a_report_that_comes_too_late(caplog: pytest.LogCaptureFixture) -> None:
    """410 on `/error` is logged; the environment goes on."""
    async with serving(make_app()) as api:
        invocation = api.invoke(NOT_HTTP, timeout_ms=0)
        with pytest.raises(FunctionError, match="timed out"):
            await invocation.prelude()
        assert (await ask(api, url_event("/items/"))).prelude.status == 200
    assert any("had timed out before its error was posted" in record.message for record in caplog.records)


async def test_stop_while_an_answer_is_under_way() -> None:
    """`stop` (SIGTERM) lets the present invocation end and takes no other."""
    api = RuntimeApi()
    await api.start()
    environment = Environment(make_app(), RuntimeClient(api.address))
    running = asyncio.create_task(environment.run())
    invocation = api.invoke(url_event("/spread"))
    await invocation.prelude()
    environment.stop()
    assert len((await collect(invocation)).chunks) == 4
    await asyncio.wait_for(running, 5)
    assert not api.waiting.is_set()
    await api.close()


async def test_trace_id() -> None:
    """The trace of the invocation is where AWS's libraries look for it."""
    async with serving(make_app()) as api:
        await ask(api, url_event("/items/"))
    assert os.environ.pop("_X_AMZN_TRACE_ID").startswith("Root=1-")


async def test_context() -> None:
    """The app finds the request id in `aws.context`, and the lifespan's state."""
    async with serving(make_app()) as api:
        invocation = api.invoke(url_event("/pid"))
        await invocation.prelude()
        data = b"".join([chunk async for chunk in invocation.chunks()])
    assert f'"request":"{invocation.request_id}","started":"yes"'.encode() in data


@pytest.mark.parametrize(("status", "failed"), [(200, False), (404, False), (500, True), (None, True)], ids=str)
async def test_an_event_of_its_own_that_fails_is_an_error(status: int | None, failed: bool) -> None:
    """Lambda is told so, and tries it again; what the app says else nobody reads."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and status is None:
            raise LookupError("no such app")
        await scripted(start(status or 200), body(b"x" * 100_000))(scope, receive, send)

    async with serving(app) as api:
        if failed:
            with pytest.raises(FunctionError, match=r"Function\.OwnEventFailed"):
                await api.invoke({own_event.KEY: {}}).prelude()
        else:
            assert len((await ask(api, {own_event.KEY: {}})).body) < 200
