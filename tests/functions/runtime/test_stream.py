"""The real loop with a FastAPI app on the fake Runtime API: the reports of others' broken streams, one test each."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from functions.runtime import __all__ as exported
from infra.local.runtime_api import RuntimeApi
from tests.support.events import rest_event, url_event
from tests.support.runtime import Reply, ask, collect, serving
from tests.support.streaming_app import GAP, make_app


async def get(api: RuntimeApi, path: str, method: str = "GET", **changes: Any) -> Reply:
    return await ask(api, url_event(path, method, **changes))


async def test_chunks_arrive_as_they_are_made() -> None:
    """Events yielded 200 ms apart arrive 200 ms apart, each whole and alone (mangum #299, #341)."""
    async with serving(make_app()) as api:
        reply = await get(api, "/spread")
    assert reply.chunks == [b"data: %d\n\n" % number for number in range(4)]
    gaps = [b - a for a, b in zip(reply.times, reply.times[1:], strict=False)]
    assert min(gaps) >= 0.75 * GAP
    assert reply.prelude.headers["content-type"].startswith("text/event-stream")


async def test_the_answer_is_a_http_integration_response() -> None:
    """The post says what it is, so that a URL never shows the envelope as text (middy #1189), and echoes the invocation's id."""
    async with serving(make_app()) as api:
        invocation = api.invoke(url_event("/items/"))
        reply = await collect(invocation)
    assert (reply.prelude.status, json.loads(reply.body)) == (200, {"a": "b"})
    expected = {
        "content-type": "application/vnd.awslambda.http-integration-response",
        "lambda-runtime-function-response-mode": "streaming",
        "transfer-encoding": "chunked",
        "trailer": "Lambda-Runtime-Function-Error-Type, Lambda-Runtime-Function-Error-Body",
        "lambda-runtime-invocation-id": invocation.invocation_id,
        "connection": "close",
    }
    assert {name: invocation.headers[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("path", "method", "status", "body"),
    [("/items", "GET", 307, b"\n"), ("/nothing", "GET", 204, b""), ("/items/", "HEAD", 405, b"\n"), ("/missing", "GET", 404, None)],
)
async def test_no_answer_is_empty(path: str, method: str, status: int, body: bytes | None) -> None:
    """Redirects, HEAD and empty bodies end, with one byte unless 204 (nodejs-RIC #95, aws-lambda-go #593), and state no length."""
    async with serving(make_app()) as api:
        reply = await get(api, path, method)
    assert reply.prelude.status == status
    assert body is None or reply.body == body
    assert "content-length" not in reply.prelude.headers


async def test_background_work_holds_up_the_next_event_only() -> None:
    """The response has ended while the task still runs, and the task has ended when `next` comes (LWA #404, #590; fastapi #1233)."""
    app = make_app()
    done: list[str] = app.state.done
    async with serving(app) as api:
        await asyncio.wait_for(api.waiting.wait(), 5)
        assert (await get(api, "/background")).body == b'"ok"'
        assert (done, api.waiting.is_set()) == ([], False)
        await asyncio.wait_for(api.waiting.wait(), 5)
        assert done == ["work"]


async def test_one_loop_for_all_invocations() -> None:
    """Locks and clients of the first call work in the second (mangum #361, langgraph #6693, powertools #7792)."""
    async with serving(make_app()) as api:
        replies = [await get(api, "/lock") for _ in range(3)]
    assert [reply.prelude.status for reply in replies] == [200] * 3
    assert len({reply.body for reply in replies}) == 1


@pytest.mark.parametrize("depth", [0, 10, 100])
async def test_a_failure_in_the_middle(depth: int) -> None:
    """A long traceback neither kills the environment (trailer limit) nor gets into the body (as with Rust's runtime)."""
    async with serving(make_app()) as api:
        reply = await get(api, "/mid", rawQueryString=f"depth={depth}")
        assert (await get(api, "/items/")).prelude.status == 200
    assert reply.body == b"data: 1\n\n"
    assert reply.trailers is not None
    assert reply.trailers["lambda-runtime-function-error-type"] == "Function.ValueError"
    report = json.loads(base64.b64decode(reply.trailers["lambda-runtime-function-error-body"]))
    assert report["errorMessage"].startswith("in the middle")


async def test_a_failure_before_the_first_byte() -> None:
    """An ordinary 500 without the exception's text, and the next call works."""
    async with serving(make_app()) as api:
        reply = await get(api, "/early")
        assert (await get(api, "/items/")).prelude.status == 200
    assert (reply.prelude.status, b"secret" in reply.body, reply.trailers) == (500, False, {})


async def test_cookies_both_ways() -> None:
    """Cookies of the event reach the app, Set-Cookie headers stay apart."""
    async with serving(make_app()) as api:
        reply = await get(api, "/cookies", cookies=["x=1", "y=2"])
    assert json.loads(reply.body) == {"x": "1", "y": "2"}
    assert [cookie.split(";")[0] for cookie in reply.prelude.cookies] == ["a=1", "b=2"]


async def test_binary_both_ways() -> None:
    """A base64 body is decoded, and bytes come back as they are."""
    data = bytes(range(256)) * 4_000
    async with serving(make_app()) as api:
        reply = await get(api, "/echo", "POST", body=base64.b64encode(data).decode(), isBase64Encoded=True)
    assert reply.body == data


async def test_not_disconnected() -> None:
    """An app that asks is told the client is there: Lambda never knows better."""
    async with serving(make_app()) as api:
        assert (await get(api, "/disconnected")).body == b"false"


async def test_bad_base64_is_400() -> None:
    """A request that cannot be read is answered, not reported as a failure of the function."""
    async with serving(make_app()) as api:
        reply = await get(api, "/echo", "POST", body="!", isBase64Encoded=True)
    assert (reply.prelude.status, json.loads(reply.body)["error"]["code"]) == (400, "BAD_REQUEST")


async def test_api_gateway_rest_streams_too() -> None:
    """The same bytes serve an API Gateway REST API."""
    async with serving(make_app()) as api:
        reply = await ask(api, rest_event("/items/"))
    assert json.loads(reply.body) == {"a": "b"}


def test_public_names() -> None:
    """What the package promises to others."""
    assert {"serve", "asgi_scope"} <= set(exported)
