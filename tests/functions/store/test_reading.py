"""Reads: consistent, every page, nothing expired, nobody else's."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from functions.store.checkpoints import DynamoDBSaver
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import checkpoint, config, noise, put
from tests.support.dynamodb import Dynamo, Recorder

ODD_IDS: list[Any] = ["a#b", "a:::b", "a b", "a!b", "🙂", "日本", "", "x" * 3_000, 'a"21b']


def _thread(saver: BaseCheckpointSaver[Any], thread_id: object, steps: int, namespace: str = "") -> list[str]:
    """A chain of checkpoints; their ids, the oldest first."""
    at, ids = config(thread_id, namespace), []
    for step in range(steps):
        at = put(saver, at, {"n": step}, step=step)
        ids.append(at["configurable"]["checkpoint_id"])
    return ids


def _latest(saver: BaseCheckpointSaver[Any], at: RunnableConfig) -> CheckpointTuple:
    found = saver.get_tuple(at)
    assert found is not None
    return found


def _ids(found: list[CheckpointTuple]) -> list[str]:
    return [one.checkpoint["id"] for one in found]


def test_every_read_is_consistent(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """An answer right after an interrupt sees it: no read may lag."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    saver = make_saver(client=client)
    ids = _thread(saver, "t", 3)
    saver.put_writes(config("t", "", ids[-1]), [("n", 9)], "task")
    saver.get_tuple(config("t"))
    saver.get_tuple(config("t", "", ids[0]))
    for at in (config("t"), config("t", None), None):
        assert len(list(saver.list(at))) == 3
    saver.get_delta_channel_history(config=config("t"), channels=["absent"])
    assert {name for name, _ in calls.calls} == {"PutItem", "UpdateItem", "Query", "GetItem", "Scan"}
    assert all(request["ConsistentRead"] is True for request in calls.reads)


def test_the_latest_costs_two_queries(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """One item of a long history is read, then its writes."""
    _thread(make_saver(), "t", 12)
    client = dynamo.fresh_client()
    calls = Recorder(client)
    make_saver(client=client).get_tuple(config("t"))
    assert [(name, request.get("Limit")) for name, request in calls.calls] == [("Query", 1), ("Query", None)]


@pytest.mark.parametrize("odd", ODD_IDS)
def test_odd_ids_keep_apart(saver: DynamoDBSaver, odd: str) -> None:
    """Threads, namespaces and tasks with any characters come back as they were, beside their neighbours."""
    first = put(saver, config(odd, odd), {"n": "mine"})
    put(saver, config(odd + "x", odd), {"n": "thread"})
    put(saver, config(odd, odd + "x"), {"n": "namespace"})
    saver.put_writes(first, [(odd, 1)], odd, odd)
    found = _latest(saver, config(odd, odd))
    assert found.checkpoint["channel_values"] == {"n": "mine"}
    assert found.pending_writes == [(odd, odd, 1)]
    assert found.config == first
    assert len(list(saver.list(config(odd, None)))) == 2
    assert first in [one.config for one in saver.list(None)]


def test_an_integer_is_its_text(saver: DynamoDBSaver) -> None:
    """LangGraph asks for `str(thread_id)` where it was started with a number."""
    put(saver, config(7), {"n": 1})
    assert _latest(saver, config("7")).checkpoint["channel_values"] == {"n": 1}


def test_separators_in_ids_do_not_mix_threads(saver: DynamoDBSaver) -> None:
    """(a#b, c) and (a, b#c) with the same checkpoint id are two checkpoints with writes of their own."""
    for thread_id, namespace in (("a#b", "c"), ("a", "b#c"), ("a!b", "c"), ("a", "b!c")):
        saver.put(config(thread_id, namespace), checkpoint({}, "1"), {}, {})
        saver.put_writes(config(thread_id, namespace, "1"), [("ch", thread_id + "/" + namespace)], "task")
    for thread_id, namespace in (("a#b", "c"), ("a", "b#c"), ("a!b", "c"), ("a", "b!c")):
        assert _latest(saver, config(thread_id, namespace)).pending_writes == [("task", "ch", f"{thread_id}/{namespace}")]


def test_namespaces_have_their_own_latest(saver: DynamoDBSaver) -> None:
    """The newest checkpoint of a child is not the root's."""
    root = _thread(saver, "t", 2)
    child = _thread(saver, "t", 2, "child:1")
    assert (_latest(saver, config("t")).checkpoint["id"], _latest(saver, config("t", "child:1")).checkpoint["id"]) == (root[-1], child[-1])
    assert _ids(list(saver.list(config("t", None)))) == [*reversed(child), *reversed(root)]
    assert _ids(list(saver.list(config("t")))) == root[::-1]


def test_history_over_a_page_is_all_read(saver: DynamoDBSaver) -> None:
    """3 MB of checkpoints are three pages of a query."""
    for number in range(12):
        put(saver, config("t"), {"blob": noise(250_000 + number)}, step=number)
    assert [one.metadata["step"] for one in saver.list(config("t"))] == list(range(12))[::-1]
    assert [one.metadata["step"] for one in saver.list(config("t"), filter={"step": 1})] == [1]


@pytest.mark.parametrize(
    ("limit", "before", "expected"), [(0, None, []), (2, None, [4, 3]), (None, 2, [1, 0]), (1, 3, [2]), (9, 9, [4, 3, 2, 1, 0])]
)
@pytest.mark.parametrize("everywhere", [False, True])
async def test_limit_and_before(saver: DynamoDBSaver, limit: int | None, before: int | None, expected: list[int], everywhere: bool) -> None:
    """They count what matches, in one namespace and over all, sync and async alike."""
    ids = _thread(saver, "t", 5)
    options: dict[str, Any] = {"limit": limit, "before": None if before is None else config("t", "", ids[before] if before < 5 else "z")}
    at = config("t", None if everywhere else "")
    assert [one.metadata["step"] for one in saver.list(at, **options)] == expected
    assert [one.metadata["step"] async for one in saver.alist(at, **options)] == expected


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"tenant": "b"}, ["b"]),
        ({"flag": True}, ["b", "a"]),
        ({"source": "loop", "tenant": "a"}, ["a"]),
        ({"step": 99}, []),
        ({"nope": 1}, []),
    ],
)
def test_filter_by_metadata_and_configurable(saver: DynamoDBSaver, filter: dict[str, Any], expected: list[str]) -> None:
    """Scalars of `configurable` and of the run's metadata are kept; they never replace `step` and `source`."""
    for tenant in ("a", "b"):
        at = config("t", "", tenant=tenant) | {"metadata": {"flag": True, "step": 99, "source": "mine"}}
        put(saver, at, {"n": tenant})
    assert [one.metadata["tenant"] for one in saver.list(config("t"), filter=filter)] == expected  # type: ignore[typeddict-item]


def test_principals_do_not_see_each_other(saver: DynamoDBSaver) -> None:
    """The same thread id of two principals is two threads; deleting one leaves the other."""
    alice, bob = saver.for_principal("alice"), saver.for_principal("bob")
    for view in (saver, alice, bob):
        _thread(view, "t", 1)
    put(alice, config("t"), {"n": "alice"})
    assert _latest(bob, config("t")).checkpoint["channel_values"] == {"n": 0}
    assert [len(list(view.list(None))) for view in (saver, alice, bob)] == [1, 2, 1]
    alice.delete_thread("t")
    assert [len(list(view.list(None))) for view in (saver, alice, bob)] == [1, 0, 1]


async def test_the_loop_is_never_blocked(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """No call is made on the loop's thread, and forty tasks do not queue behind a handful of threads."""
    client = dynamo.fresh_client()
    waiting: set[int] = set()
    peaks: list[int] = []

    def slow(**_: Any) -> None:
        waiting.add(threading.get_ident())
        peaks.append(len(waiting))
        time.sleep(0.3)
        waiting.discard(threading.get_ident())
        assert threading.get_ident() != loop_thread

    loop_thread = threading.get_ident()
    client.meta.events.register("before-send.dynamodb", slow)
    saver = make_saver(client=client)
    async with asyncio.TaskGroup() as group:
        for number in range(40):
            group.create_task(saver.aput_writes(config("t", "", "1"), [("ch", number)], f"task-{number}"))
    assert max(peaks) > 16
    assert len([found async for found in saver.alist(config("t"))]) == 0
    assert await saver.aget_tuple(config("t")) is None
