"""CopilotKit's own paths: the same agent, the same threads."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from langgraph.checkpoint.memory import InMemorySaver

from functions.settings import Settings
from functions.web import create_app
from tests.functions.web.test_app import SETTINGS, body, client_of
from tests.support.sse import read_sse


def outcome(answer: httpx.Response) -> Any:
    return read_sse(answer.content)[-1]["outcome"]["type"]


async def test_run_and_connect() -> None:
    """As at `/` and `/connect`; `/info` names the agent where the client looks for it."""
    async with client_of(create_app("dev", SETTINGS, checkpointer=InMemorySaver())) as client:
        info = (await client.get("/info")).json()
        run = await client.post("/agent/dev/run", json=body())
        shown = await client.post("/agent/dev/connect", json=body(None))
        plain = await client.post("/connect", json={"threadId": "t"})
    assert info["agents"]["dev"]["description"] == info["description"]
    assert (outcome(run), outcome(shown), outcome(plain)) == ("interrupt",) * 3


async def test_stop() -> None:
    """A run that goes, one that does not, and a thread that is not there."""
    app = create_app("reactAgent", Settings(auth="none", offline_delay_ms=20), checkpointer=InMemorySaver())
    async with client_of(app) as client:
        running = asyncio.create_task(client.post("/agent/reactAgent/run", json=body("count to 500", protocolVersion="1.0")))
        await asyncio.sleep(1)
        stopped = (await client.post("/agent/reactAgent/stop/t")).json()
        assert outcome(await running) == "cancelled"
        again = await client.post("/agent/reactAgent/stop/t")
        assert (stopped["stopped"], stopped["interrupt"]["code"]) == (True, "STOPPED")
        assert (again.status_code, again.json()["stopped"]) == (200, False)
        assert (await client.post("/agent/reactAgent/stop/nothing")).status_code == 404


async def test_another_agent_is_not_here() -> None:
    """Its name leads nowhere, by every path."""
    async with client_of(create_app("dev", SETTINGS, checkpointer=InMemorySaver())) as client:
        for path in ("run", "connect", "stop/t"):
            answer = await client.post(f"/agent/reactAgent/{path}", json=body())
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
