"""`infra.local.runtime_api` refuses what AWS's Runtime API refuses. A raw client posts what no good runtime would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from infra.local.invocation import BUFFERED_BYTES
from infra.local.runtime_api import FunctionError, Invocation, Prelude, RuntimeApi, State, TruncatedResponse
from tests.support.runtime import collect

PRELUDE = b'{"statusCode":201,"headers":{"A":"b"},"cookies":["c=d"]}' + bytes(8)
HTTP = "Content-Type: application/vnd.awslambda.http-integration-response\r\nLambda-Runtime-Function-Response-Mode: streaming\r\n"
CHUNKED = HTTP + "Transfer-Encoding: chunked\r\n"
NEXT = "GET invocation/next"


@pytest.fixture
async def api() -> AsyncIterator[RuntimeApi]:
    made = RuntimeApi()
    await made.start()
    yield made
    await made.close()


async def call(api: RuntimeApi, request: str, headers: str = "", body: bytes = b"", *, eof: bool = False) -> tuple[int, bytes]:
    """One request → status and body; status 0 if the connection was reset."""
    host, port = api.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    method, path = request.split(" ")
    writer.write(f"{method} /2018-06-01/runtime/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode() + body)
    if eof:
        writer.write_eof()
    try:
        head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
    except ConnectionError:
        head, answer = b"", b""
    writer.close()
    return (int(head.split()[1]) if head else 0), answer


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def taken(api: RuntimeApi, timeout_ms: int = 900_000) -> Invocation:
    """An invocation that the raw runtime has fetched."""
    invocation = api.invoke({"a": 1}, timeout_ms=timeout_ms)
    assert await call(api, NEXT) == (200, b'{"a": 1}')
    return invocation


def length(body: bytes) -> str:
    return f"Content-Length: {len(body)}\r\n"


async def test_a_stream(api: RuntimeApi) -> None:
    """Prelude, chunks and trailers arrive, wherever the prelude was cut; `next` may follow."""
    invocation = await taken(api)
    body = (
        chunk(PRELUDE[:20]) + chunk(PRELUDE[20:] + b"one") + chunk(b"two") + b"0\r\nLambda-Runtime-Function-Error-Type: Function.X\r\n\r\n"
    )
    post = asyncio.create_task(call(api, f"POST invocation/{invocation.request_id}/response", CHUNKED, body))
    reply = await collect(invocation)
    assert await post == (202, b'{"status": "OK"}')
    assert (reply.prelude.status, reply.prelude.headers, reply.prelude.cookies) == (201, {"a": "b"}, ["c=d"])
    # one letter after the dot is outside of AWS's pattern
    assert (reply.chunks, reply.trailers) == ([b"one", b"two"], {"lambda-runtime-function-error-type": "Runtime.Unknown"})
    await taken(api)


async def test_without_the_http_type_all_is_body(api: RuntimeApi) -> None:
    """A buffered answer on a streaming URL comes out as its own envelope, status 200: what users of such URLs report."""
    invocation = await taken(api)
    data = b'{"statusCode":404}'
    await call(api, f"POST invocation/{invocation.request_id}/response", length(data), data)
    reply = await collect(invocation)
    assert (reply.prelude.status, reply.prelude.headers, reply.body) == (200, {"content-type": "application/octet-stream"}, data)


@pytest.mark.parametrize(
    ("requests", "status", "error_type"),
    [
        (["POST invocation/nobody/response"], 400, "InvalidRequestID"),
        (["POST invocation/ID/error", "POST invocation/ID/error"], 403, "InvalidStateTransition"),
        (["POST invocation/ID/error", "POST invocation/ID/response"], 403, "InvalidStateTransition"),
        ([NEXT], 403, "InvalidStateTransition"),
        (["POST init/error"], 403, "InvalidStateTransition"),
        (["GET restore/next"], 403, "InvalidStateTransition"),
        (["POST restore/error"], 403, "InvalidStateTransition"),
        (["GET nowhere"], 404, "NotFound"),
    ],
)
async def test_order_of_calls(api: RuntimeApi, requests: list[str], status: int, error_type: str) -> None:
    """While an event is being handled only one answer is legal."""
    invocation = await taken(api)
    for request in requests:
        answer = await call(api, request.replace("ID", invocation.request_id), length(b"{}"), b"{}")
    assert (answer[0], json.loads(answer[1])["errorType"]) == (status, error_type)


async def test_response_modes(api: RuntimeApi) -> None:
    """Any mode but streaming and buffered is 400."""
    invocation = await taken(api)
    headers = "Lambda-Runtime-Function-Response-Mode: Streaming!\r\n" + length(b"")
    status, body = await call(api, f"POST invocation/{invocation.request_id}/response", headers)
    assert (status, json.loads(body)["errorType"]) == (400, "InvalidFunctionResponseMode")


def trailers(size: int) -> bytes:
    """A trailer block of exactly `size` bytes, its final CRLF included."""
    name = b"Lambda-Runtime-Function-Error-Body: "
    return b"0\r\n" + name + b"x" * (size - len(name) - 4) + b"\r\n\r\n"


@pytest.mark.parametrize(("size", "status", "state"), [(4096, 202, State.ANSWERED), (4097, 0, State.DEAD)])
async def test_trailer_limit(api: RuntimeApi, size: int, status: int, state: State) -> None:
    """4,096 bytes of trailers pass, one more resets the connection and kills the environment."""
    invocation = await taken(api)
    body = chunk(PRELUDE + b"x") + trailers(size)
    assert (await call(api, f"POST invocation/{invocation.request_id}/response", CHUNKED, body))[0] == status
    assert api.state is state
    if state is State.DEAD:
        with pytest.raises(TruncatedResponse):
            await collect(invocation)
        assert (await call(api, NEXT))[0] == 403


@pytest.mark.parametrize(("body", "error"), [(b"", FunctionError), (chunk(PRELUDE + b"x"), TruncatedResponse), (b"ff\r\nx", FunctionError)])
async def test_truncated_posts(api: RuntimeApi, body: bytes, error: type[Exception]) -> None:
    """A post without its last chunk is 400 to the runtime and an error to the caller; `next` may follow."""
    invocation = await taken(api)
    status, answer = await call(api, f"POST invocation/{invocation.request_id}/response", CHUNKED, body, eof=True)
    assert (status, json.loads(answer)["errorType"]) == (400, "Runtime.TruncatedResponse")
    with pytest.raises(error):
        await collect(invocation)
    await taken(api)


@pytest.mark.parametrize("prelude", [b"{}" + b" " * 16_384 + bytes(8), b"x" * 17_000, b"[]" + bytes(8), b"{" + bytes(8), b"{}"])
async def test_bad_preludes(api: RuntimeApi, prelude: bytes) -> None:
    """Over 16 KB, no JSON, no object, no separator: refused, and the caller gets an error."""
    invocation = await taken(api)
    body = chunk(prelude) + b"0\r\n\r\n"
    assert (await call(api, f"POST invocation/{invocation.request_id}/response", CHUNKED, body))[0] == 400
    with pytest.raises(FunctionError, match="prelude"):
        await invocation.prelude()


@pytest.mark.parametrize("name", ["response", "error"])
async def test_410_after_the_deadline(api: RuntimeApi, name: str) -> None:
    """A post after the deadline is 410; the caller had its error at the deadline; `next` may follow."""
    invocation = await taken(api, timeout_ms=20)
    with pytest.raises(FunctionError, match=r"Sandbox.Timedout: Task timed out after 0.02 seconds"):
        await invocation.prelude()
    assert (await call(api, f"POST invocation/{invocation.request_id}/{name}", length(b"{}"), b"{}"))[0] == 410
    await taken(api)


async def test_next_after_the_deadline(api: RuntimeApi) -> None:
    """A runtime that gave up on an expired invocation may ask for the next one without a post."""
    invocation = await taken(api, timeout_ms=1)
    await invocation.finished.wait()
    await taken(api)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("Function.ValueError", "Function.ValueError"), ("ValueError", "Runtime.Unknown"), ("Runtime.x", "Runtime.Unknown")],
)
async def test_posted_errors(api: RuntimeApi, given: str, expected: str) -> None:
    """The caller gets type and message; types outside AWS's pattern are replaced."""
    invocation = await taken(api)
    data = b'{"errorMessage":"no"}'
    headers = f"Lambda-Runtime-Function-Error-Type: {given}\r\n" + length(data)
    assert (await call(api, f"POST invocation/{invocation.request_id}/error", headers, data))[0] == 202
    with pytest.raises(FunctionError) as caught:
        await invocation.prelude()
    assert (caught.value.error_type, caught.value.message) == (expected, "no")


async def test_a_dead_runtime_swallows_no_event(api: RuntimeApi) -> None:
    """A runtime that hung up while it waited gets no event: the next one to ask does."""
    host, port = api.address.split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\n\r\n")
    await asyncio.wait_for(api.waiting.wait(), 5)
    writer.close()
    async with asyncio.timeout(5):
        while api.waiting.is_set():  # noqa: ASYNC110 - there is no event for "waits no more", and only this test would use one
            await asyncio.sleep(0.01)
    await taken(api)


async def test_two_runtimes_at_once(api: RuntimeApi) -> None:
    """A second runtime in one environment is refused: it would steal events (LWA #278)."""
    first = asyncio.create_task(call(api, NEXT))
    await asyncio.wait_for(api.waiting.wait(), 5)
    assert (await call(api, NEXT))[0] == 403
    api.invoke({})
    assert await first == (200, b"{}")


async def test_a_reader_that_leaves_blocks_nobody(api: RuntimeApi) -> None:
    """The function is not told that its client left, and its stream is taken to the end."""
    invocation = await taken(api)
    parts = 3 * BUFFERED_BYTES // 1024
    body = chunk(PRELUDE) + chunk(b"x" * 1024) * parts + b"0\r\n\r\n"
    post = asyncio.create_task(call(api, f"POST invocation/{invocation.request_id}/response", CHUNKED, body))
    await invocation.prelude()
    invocation.discard()
    assert (await asyncio.wait_for(post, 5))[0] == 202


async def test_fail(api: RuntimeApi) -> None:
    """A worker that died: the caller gets a function error before the prelude, a truncated response after it."""
    early = await taken(api)
    early.fail(RuntimeError("killed"))
    with pytest.raises(FunctionError, match="killed"):
        await early.prelude()
    late = api.invoke({})
    late.begin(Prelude(200, {}, []))
    await late.feed(b"x")
    late.fail(RuntimeError("killed"))
    with pytest.raises(TruncatedResponse, match="killed"):
        await collect(late)


async def test_close_fails_what_waits() -> None:
    """Events nobody took fail when the environment is closed."""
    api = RuntimeApi()
    await api.start()
    invocation = api.invoke({})
    await api.close()
    with pytest.raises(FunctionError, match="closed"):
        await invocation.prelude()
