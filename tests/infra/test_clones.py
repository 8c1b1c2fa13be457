"""SnapStart: what clones of one warm process share, and what they must not (`tests.support.clones`)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from functions.store import keys
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client, ssm_client
from functions.store.tables import create_tables
from tests.support import clones
from tests.support.bundles import bundle_here, lambda_python
from tests.support.clones import Clone, Warmed, warmed
from tests.support.lambda_place import REGION, function_config, signed_event
from tests.support.moto_server import moto_server
from tests.support.runtime import ask
from tests.support.sse import read_sse

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not clones.AVAILABLE, reason="a process is cloned by Linux's fork"),
]

Json = dict[str, Any]
DRAWN = ("random", "checkpoint", "uuid7", "uuid4", "secrets")
SEEDED = ("random", "checkpoint", "uuid7")
"""Generators whose state is the process's: the others ask the kernel for each number."""
ANN = "arn:aws:iam::123456789012:user/ann"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with moto_server() as address:
        create_tables(dynamodb_client(address, REGION), "agents-")
        yield address


@asynccontextmanager
async def snapshot(endpoint: str, tmp_path: Path, **options: Any) -> AsyncIterator[Warmed]:
    """The bundle of `dev`, with a key in Parameter Store, warm up to `restore/next`."""
    config = function_config("dev", endpoint) | {"AGENTS_SECRETS": json.dumps({"DEMO_KEY": "/demo/key"})}
    async with warmed(bundle_here("dev"), lambda_python(), config, tmp_path / "log", **options) as process:
        yield process


def put_key(endpoint: str, value: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        ssm_client().put_parameter(Name="/demo/key", Value=value, Type="SecureString", Overwrite=True)


async def drawn(clone: Clone) -> Json:
    found: Json = json.loads((await ask(clone.api, signed_event("/drawn", "GET"))).body)
    return found


def run_event(thread: str) -> Json:
    message = {"id": "u1", "role": "user", "content": "start demo"}
    rest: Json = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return signed_event(body=json.dumps({"threadId": thread, "runId": "r1", "messages": [message], **rest}))


async def run(clone: Clone, thread: str) -> list[Json]:
    return read_sse((await ask(clone.api, run_event(thread))).body)


def checkpoints(endpoint: str, thread: str) -> list[str]:
    """Ids of a thread's checkpoints, first to last, without the time in them."""
    saver = DynamoDBSaver("agents-checkpoints", client=dynamodb_client(endpoint, REGION)).for_principal(keys.owner("dev", ANN))
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    ids = [str(found.config["configurable"]["checkpoint_id"]) for found in saver.list(config)]
    return [one.split("-", 3)[3] for one in reversed(ids)]


def differing(names: Sequence[str], one: Json, other: Json) -> list[str]:
    return [name for name in names if one[name] != other[name]]


async def test_clones_draw_numbers_of_their_own(endpoint: str, tmp_path: Path) -> None:
    """`random`, LangGraph's checkpoint ids, LangChain's uuid7, uuid4 and `secrets` differ in two clones of one snapshot."""
    put_key(endpoint, "one")
    async with snapshot(endpoint, tmp_path) as process:
        async with process.clone() as clone:
            one = await drawn(clone)
        async with process.clone() as clone:
            other = await drawn(clone)
    assert differing(DRAWN, one, other) == list(DRAWN)


async def test_clones_that_nobody_seeds_are_the_same(endpoint: str, tmp_path: Path) -> None:
    """The control: without `reseed` two clones draw the same, down to the ids of the checkpoints that their runs store."""
    put_key(endpoint, "one")
    async with snapshot(endpoint, tmp_path, shared=True) as process:
        async with process.clone() as clone:
            one = await drawn(clone)
            await run(clone, "same-1")
        async with process.clone() as clone:
            other = await drawn(clone)
            await run(clone, "same-2")
    assert differing(DRAWN, one, other) == [name for name in DRAWN if name not in SEEDED]
    assert checkpoints(endpoint, "same-1")[0] == checkpoints(endpoint, "same-2")[0]


async def test_a_clones_run_is_its_own(endpoint: str, tmp_path: Path) -> None:
    """Two clones, the same run on two threads: no id of a checkpoint, message or question is in both. Each reads its key after the
    restore, connects after the restore (the snapshot has no socket, and no thread that would keep one), and stores the time of its run."""
    put_key(endpoint, "at the snapshot")
    async with snapshot(endpoint, tmp_path) as process:
        assert (process.snapshot["sockets"], process.snapshot["threads"]) == (0, 1)
        stories = []
        for number in (1, 2):
            put_key(endpoint, f"key {number}")
            restored = time.time()
            async with process.clone() as clone:
                events = await run(clone, f"own-{number}")
                found = await drawn(clone)
                row = json.loads((await ask(clone.api, signed_event(f"/threads/own-{number}", "GET"))).body)
            assert events[-1]["type"] == "RUN_FINISHED"
            assert found["demo_key"] == f"key {number}"
            assert restored * 1000 - 1 <= row["createdAt"] <= time.time() * 1000
            stories.append({*checkpoints(endpoint, f"own-{number}"), *made(events)})
    assert all(stories)
    assert stories[0] & stories[1] == set()


def made(events: Sequence[Json]) -> set[str]:
    """Ids that the run itself made: of messages but the user's, and of questions."""
    messages = {event["messageId"] for event in events if "messageId" in event}
    questions = {one["id"] for one in events[-1]["outcome"].get("interrupts", ())}
    return (messages | questions) - {"u1"}


async def test_a_clones_first_event_comes_soon(endpoint: str, tmp_path: Path) -> None:
    """Within ten seconds, however busy the machine is; `agents bench restore` says how soon."""
    put_key(endpoint, "one")
    async with snapshot(endpoint, tmp_path) as process, process.clone() as clone, asyncio.timeout(10):
        async for chunk in clone.api.invoke(run_event("soon")).chunks():
            assert chunk.startswith(b"id: 1\ndata:")
            break
