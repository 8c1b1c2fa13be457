"""A function URL over real HTTP, to a real worker and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from infra.local.pool import Limits

from .conftest import Workers, eventually, kill


@pytest.fixture(scope="module")
def workers() -> Workers:
    return Workers()


@pytest.fixture(scope="module")
async def client(workers: Workers, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    page = tmp_path_factory.mktemp("page")
    (page / "index.html").write_text("<title>page</title>")
    pool = workers.pool(Limits(spares=0, maximum=2))
    async with workers.front(pool, "dev", page=page) as client:
        yield client
    await pool.close()


async def collect(client: httpx.AsyncClient, url: str, received: list[bytes]) -> None:
    """Appends what comes, as it comes."""
    async with client.stream("GET", url) as response:
        async for chunk in response.aiter_raw():
            received.append(chunk)  # noqa: PERF401 - what came before an error is what the caller wants


async def test_chunks_come_as_they_are_made(client: httpx.AsyncClient) -> None:
    """Five chunks a fifth of a second apart arrive a fifth of a second apart, not together."""
    await client.get("/agents/dev/")
    times, chunks = [], []
    async with client.stream("GET", "/agents/dev/stream?n=5&gap=0.2") as response:
        async for chunk in response.aiter_raw():
            times.append(asyncio.get_running_loop().time())
            chunks.append(chunk)
    gaps = [after - before for before, after in pairwise(times)]
    assert chunks == [b"data: %d\n\n" % number for number in range(5)]
    assert all(0.1 < gap < 0.6 for gap in gaps), gaps


async def test_the_event_is_a_function_urls(client: httpx.AsyncClient) -> None:
    """The function sees its own root, not the prefix that names it, and the body as it was sent."""
    response = await client.post("/agents/dev/echo?a=1", content="你好", headers={"content-type": "text/plain; charset=utf-8"})
    event = response.json()["event"]
    assert (event["rawPath"], event["rawQueryString"], event["body"]) == ("/echo", "a=1", "你好")
    assert event["requestContext"]["http"]["method"] == "POST"


async def test_the_root_needs_no_slash(client: httpx.AsyncClient) -> None:
    """`/agents/dev` is the function's root too."""
    assert (await client.get("/agents/dev")).json()["agent"] == "dev"


async def test_every_answer_says_which_worker(client: httpx.AsyncClient) -> None:
    """`x-worker-pid` is the pid of the process that answered."""
    response = await client.get("/agents/dev/")
    assert response.headers["x-worker-pid"] == str(response.json()["pid"])


async def test_a_killed_worker_is_replaced(client: httpx.AsyncClient) -> None:
    """The request after a kill is served by another process, and nobody notices."""
    first = (await client.get("/agents/dev/")).json()["pid"]
    await kill(first)
    second = await client.get("/agents/dev/")
    assert second.status_code == 200
    assert second.json()["pid"] != first


async def test_a_worker_that_dies_midway_cuts_the_body(client: httpx.AsyncClient, workers: Workers) -> None:
    """What was written arrives, then the body ends without its last chunk: the client can tell. The next request works."""
    received: list[bytes] = []
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        await collect(client, "/agents/dev/crash?midway=1", received)
    assert b"".join(received) == b"the first half"
    assert any("cut" in line for line in workers.said)
    assert (await client.get("/agents/dev/")).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/agents/dev/crash", 502, "Runtime.ExitError"),
        ("/agents/nobody/", 404, "UNKNOWN_AGENT"),
        ("/nothing.html", 404, "NOT_FOUND"),
    ],
)
async def test_errors_before_the_answer(client: httpx.AsyncClient, path: str, status: int, code: str) -> None:
    """Each is a status and `{"error": {"code", "message"}}`; a worker that dies before it answered is not tried again."""
    response = await client.get(path)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert response.json()["error"]["message"]


async def test_a_client_that_leaves_does_not_end_the_run(client: httpx.AsyncClient, tmp_path: Path) -> None:
    """The function is not told, runs to its end, and its worker serves the next request."""
    done = tmp_path / "done"
    async with client.stream("GET", f"/agents/dev/stream?n=6&gap=0.1&done={done}") as response:
        await anext(response.aiter_raw())
        pid = response.headers["x-worker-pid"]
    await eventually(lambda: done.exists() and done.read_text())
    assert done.read_text() == pid
    assert (await client.get("/agents/dev/")).headers["x-worker-pid"] == pid


async def test_a_preflight_does_not_reach_the_function(client: httpx.AsyncClient, workers: Workers) -> None:
    """The front answers it; no worker is started for it."""
    asked = {"origin": "http://a.test", "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    response = await client.options("/agents/dev/", headers=asked)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-allow-headers"] == "content-type"
    assert "x-worker-pid" not in response.headers


async def test_an_answer_to_another_origin_may_be_read(client: httpx.AsyncClient) -> None:
    """The URL's configuration adds the header to the function's answer."""
    response = await client.get("/agents/dev/", headers={"origin": "http://a.test"})
    assert response.headers.get_list("access-control-allow-origin") == ["*"]


async def test_a_body_over_six_megabytes_is_refused(client: httpx.AsyncClient) -> None:
    """7 MB get a 413 that the client can read, with CORS; 5 MB pass."""
    headers = {"content-type": "text/plain", "origin": "http://a.test"}
    refused = await client.post("/agents/dev/echo", content=b"x" * 7_000_000, headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "REQUEST_TOO_LARGE")
    assert refused.headers["access-control-allow-origin"] == "*"
    passed = await client.post("/agents/dev/echo", content=b"x" * 5_000_000, headers=headers)
    assert len(passed.json()["body"]) == 5_000_000


async def test_cookies_are_set(client: httpx.AsyncClient) -> None:
    """Cookies of the prelude become Set-Cookie headers."""
    response = await client.get("/agents/dev/cookies")
    assert (response.text, response.headers["set-cookie"]) == ("ok", "a=1; Path=/")


async def test_page_and_its_configuration(client: httpx.AsyncClient) -> None:
    """`/` is the page, `/config.json` lists the agents with relative URLs."""
    page = await client.get("/")
    assert (page.text, page.headers["content-type"]) == ("<title>page</title>", "text/html; charset=utf-8")
    assert (await client.get("/config.json")).json() == {"agents": [{"name": "dev", "url": "agents/dev/"}]}
    assert (await client.post("/")).status_code == 405
