"""What a run with the lease does not read again, and that it reads what is there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.types import Command

from functions.store import keys, memory
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import Calls
from functions.store.errors import LeaseLost
from functions.store.holding import Holding, clocks
from functions.store.remembered import Remembered
from functions.store.table import Item, Table
from graphs.messages import DeltaMessagesState
from tests.functions.store.conftest import MakeSaver
from tests.support import graphs
from tests.support.agent_thread import single
from tests.support.checkpoints import checkpoint, config
from tests.support.dynamodb import Dynamo, Recorder

KEYS = [f"{kind}!{namespace}!0000!{number}{rest}" for kind, rest in (("c", ""), ("w", "!t!0")) for namespace in "ab" for number in range(4)]
RANGES = [(low, keys.after(low)) for low in ("c!a!", "c!b!", "w!a!", "w!a!0000!1!", "w!b!0000!2!")] + [("c!a!", "c!a!0000!2")]
QUERIES = st.tuples(st.sampled_from(RANGES), st.sampled_from([{}, {"ScanIndexForward": False}, {"ScanIndexForward": False, "Limit": 1}]))
WRITES = st.tuples(st.sampled_from(["put", "update", "delete"]), st.sampled_from(KEYS))


def everything(pages: Any) -> list[Item]:
    return [item for page in pages for item in page]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.sets(st.sampled_from(KEYS)), steps=st.lists(st.one_of(WRITES, QUERIES, QUERIES), max_size=12), stop=st.booleans())
def test_it_reads_what_the_table_holds(dynamo: Dynamo, before: set[str], steps: list[Any], stop: bool) -> None:
    """Whatever was there, in whatever order it is written and read, in part (`stop`) or whole. (Only the writes of a checkpoint that is
    not there are not seen: nobody asks for them.)"""
    pk = f"p!{id(steps)}-{len(before)}-{hash(str(steps))}"
    plain = Table(dynamo.checkpoints, dynamo.client, Calls())
    table = Remembered(dynamo.checkpoints, dynamo.client, plain.calls, pk, 0)
    plain.put_many({"pk": {"S": pk}, "sk": {"S": key}, "v": {"N": "0"}} for key in before if _of_a_checkpoint(key, before))
    for number, (what, which) in enumerate(steps):
        if isinstance(which, dict):
            (low, high), options = what, which
            found = table.query(pk, low, high, **options)
            expected = everything(plain.query(pk, low, high, **options))
            if stop:
                page = next(found, [])
                assert page == expected[: len(page)]
                assert bool(page) == bool(expected)
            else:
                assert everything(found) == expected
        elif what == "put":
            table.put({"pk": {"S": pk}, "sk": {"S": which}, "v": {"N": str(number)}})
        elif what == "update":
            values = {":v": {"N": str(number)}}
            table.update(pk, which, UpdateExpression="SET v = if_not_exists(v, :v), w = :v", ExpressionAttributeValues=values)
        else:
            table.delete_many({"pk": {"S": pk}, "sk": {"S": key}} for key in KEYS if key[1:10] == which[1:10])


def _of_a_checkpoint(key: str, keys: set[str]) -> bool:
    """It is one, or there is the one that it belongs to."""
    return key[0] == "c" or f"c{key[1:10]}" in keys


def held(saver: DynamoDBSaver, thread_id: str = "t", *, renewed: bool = True, seconds: float = 30) -> DynamoDBSaver:
    """The saver of a run that has just taken the thread."""
    grant = saver.leases.take(saver.partition(thread_id), "run", 30)
    return saver.held(grant, Holding(seconds, lambda: renewed, since=clocks()))


@pytest.mark.parametrize("turns", [1, pytest.param(12, marks=pytest.mark.long)])
async def test_a_run_reads_its_thread_once(dynamo: Dynamo, make_saver: MakeSaver, turns: int) -> None:
    """One look at the thread (two queries for the newest checkpoint, two for each page of a delta history) serves the beginning and the
    end of the run; and the end is what a stranger reads."""

    async def node(state: DeltaMessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"answer {len(state['messages'])}")]}

    at, stranger = config("t", None), single(node, DeltaMessagesState).compile(checkpointer=make_saver())
    for _ in range(turns):
        await stranger.ainvoke({"messages": [("user", "go")]}, at)
    client = dynamo.fresh_client()
    saver = held(make_saver(client=client))
    graph, calls = single(node, DeltaMessagesState).compile(checkpointer=saver), Recorder(client)
    await graph.aget_state(at)
    planned = len(calls.reads)
    await graph.ainvoke({"messages": [("user", "and now?")]}, at, durability="sync")
    end = await graph.aget_state(at)
    assert len(calls.reads) == planned <= 6
    assert end == await stranger.aget_state(at)
    assert [state.values async for state in graph.aget_state_history(at)] == [
        state.values async for state in stranger.aget_state_history(at)
    ]


async def test_subgraphs_and_resumes(make_saver: MakeSaver) -> None:
    """Namespaces are remembered each for itself."""
    paid: list[int] = []
    at = config("t", None)
    saver = held(make_saver())
    graph = graphs.nested_approval(saver, paid)
    await graph.ainvoke({"log": []}, at)
    waiting = await graph.aget_state(at, subgraphs=True)
    assert waiting == await graphs.nested_approval(make_saver(), paid).aget_state(at, subgraphs=True)
    done = await graphs.nested_approval(saver, paid).ainvoke(Command(resume={waiting.interrupts[0].id: "yes"}), at)
    assert (paid, done["log"][-1]) == ([7], "after")


def test_a_write_that_failed_is_read_again(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Nobody knows whether it was applied: the table does."""
    client = dynamo.fresh_client()
    saver = held(make_saver(client=client))
    first = saver.put(config("t"), checkpoint({"a": 1}), {}, {})
    assert saver.get_tuple(config("t")) is not None

    def lost(**_: Any) -> None:
        raise ConnectionError("lost")

    client.meta.events.register("after-call.dynamodb.UpdateItem", lost)
    with pytest.raises(ConnectionError):
        saver.put_writes(first, [("a", 2)], "task")
    client.meta.events.unregister("after-call.dynamodb.UpdateItem", lost)
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.pending_writes == [("task", "a", 2)]


def test_what_is_remembered_is_not_served_without_the_lease(make_saver: MakeSaver) -> None:
    """A process that was frozen for longer than its lease reads nothing from before."""
    saver = held(make_saver(), renewed=False, seconds=0.001)
    with pytest.raises(LeaseLost):
        saver.get_tuple(config("t"))


def test_it_forgets_rather_than_to_grow(make_saver: MakeSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its limit everything is read from the table again."""
    monkeypatch.setattr(memory, "MOST_BYTES", 3_000)
    saver, at = held(make_saver()), config("t")
    for number in range(12):
        at = saver.put(at, checkpoint({"a": [f"{number} {step}" for step in range(40)]}), {}, {})
        found = saver.get_tuple(config("t"))
        assert found is not None
        assert found.config == at
    assert saver._table.memory._bytes < 3_000  # type: ignore[attr-defined]  # it is the one that remembers
