"""A small crowd finds nothing wrong; a planted fault is found. `python -m tests.load` is the large one."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from tests.load.crowd import Plan, Seen, crowd, growth
from tests.load.report import svg, text
from tests.load.talker import Talker
from tests.support.local_stack import running_stack


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_small_crowd_under_kills(tmp_path: Path) -> None:
    """Every stream is legal and whole, every answer its own thread's, also of those whose worker was killed."""
    plan = Plan(threads=12, at_once=4, seconds=20, token_seconds=0.02, kill_every=3)
    agents = ("--agent", "reactAgent", "--agent", "kb")
    with running_stack(tmp_path, "--ephemeral", "--workers", "6", *agents, AGENTS_OFFLINE_DELAY_MS="20", AGENTS_LEASE_SECONDS="4") as stack:
        seen = asyncio.run(crowd(stack, plan, lambda seen, now: None))
    assert seen.faults == []
    assert len(seen.turns) > 10
    assert seen.kills
    assert growth(seen) is None or min(growth(seen) or ()) > 30
    assert "0 faults" in text(seen, plan, 6)
    ElementTree.fromstring(svg(seen, plan, "a small crowd"))


def stream(input: dict[str, Any], messages: list[Any], numbers: range) -> bytes:
    """What an agent sends that says this, its events under these numbers."""
    ids = {"threadId": input["threadId"], "runId": input["runId"]}
    events = [
        {"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"},
        {"type": "MESSAGES_SNAPSHOT", "messages": messages},
        {"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}},
    ]
    return b"".join(b"id: %d\ndata: %b\n\n" % (number, json.dumps(event).encode()) for number, event in zip(numbers, events, strict=True))


PLANTED = {
    "messages of another thread": ([{"id": "other", "role": "user", "content": "hello"}], range(1, 4)),
    "not one after the other": (None, range(1, 6, 2)),
    "is not 1 2 3": (None, range(1, 4)),
}


@pytest.mark.parametrize("found", PLANTED)
async def test_a_planted_fault_is_found(found: str) -> None:
    """An agent that shows another's thread, loses an event, or says something else."""
    messages, numbers = PLANTED[found]

    def answer(request: httpx.Request) -> httpx.Response:
        input = json.loads(request.content)
        said = {"id": "a", "role": "assistant", "content": "hm"}
        return httpx.Response(200, stream=httpx.ByteStream(stream(input, messages or [*input["messages"], said], numbers)))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        talker = Talker(client, "http://agent/", "reactAgent", Always("answer"), 0.0, set(), time.monotonic())
        turn = await talker.turn()
    assert [found in fault for fault in turn.faults] == [True]
    assert len(Seen([turn]).faults) == 1


class Always(random.Random):
    """Does one thing."""

    def __init__(self, kind: str) -> None:
        super().__init__(1)
        self._kind = kind

    def choices(self, population: Any, *args: Any, **more: Any) -> Any:
        return [self._kind]
