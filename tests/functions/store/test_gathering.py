"""What goes out in one call, what must not, and who hears of it when that call fails."""

from __future__ import annotations

import asyncio
import math
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT
from langgraph.graph import START, StateGraph

from functions.store import keys
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import Calls
from functions.store.gathering import Gathering, Outbox, Store
from functions.store.remembered import Remembered
from functions.store.table import Item, Table
from tests.bench.working import DELTA, PLAIN, turn, working_graph
from tests.functions.store.conftest import MakeSaver
from tests.functions.store.test_remembered import held
from tests.support.checkpoints import checkpoint, config
from tests.support.dynamodb import Dynamo, Recorder
from tests.support.dynamodb_faults import Fault, Faults


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


KEYS = ["c!a!0000!1", "c!a!0000!2", *(f"w!a!0000!{number}!t!{bucket:05d}" for number in (1, 2) for bucket in (0, 1))]
STEPS = st.tuples(st.sampled_from(["put", "update", "send"]), st.sampled_from(KEYS))


@pytest.mark.parametrize(("state", "calls"), [(PLAIN, {"BatchWriteItem": 6, "PutItem": 1}), (DELTA, {"BatchWriteItem": 3, "PutItem": 9})])
async def test_calls_of_a_run(dynamo: Dynamo, make_saver: MakeSaver, state: Any, calls: dict[str, int]) -> None:
    """A step's writes go out with its checkpoint, those of parallel tools with each other; a checkpoint with delta channels waits for the
    writes that it is rebuilt from. A stranger reads the same."""
    client = dynamo.fresh_client()
    saver = held(make_saver(client=client), "t0")
    recorder = Recorder(client)
    await turn(working_graph(state, saver), 0)
    written = Counter(name for name in recorder.operations if name not in ("Query", "GetItem"))
    assert written == calls
    at = config("t0", None)
    graphs = [working_graph(state, reader) for reader in (saver, make_saver())]
    assert await graphs[0].aget_state(at) == await graphs[1].aget_state(at)
    assert [len(s.values["messages"]) async for s in graphs[1].aget_state_history(at)] == [8, 7, 5, 4, 2, 1, 0]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.sets(st.sampled_from(KEYS)), steps=st.lists(STEPS, max_size=10))
def test_the_table_is_as_if_each_had_gone_alone(dynamo: Dynamo, before: set[str], steps: list[tuple[str, str]]) -> None:
    """Whatever was there; an item of which one write waits takes no other in the same outbox (the saver sees to that)."""
    plain = Table(dynamo.checkpoints, dynamo.client, Calls())
    pks = [f"{kind}!{id(steps)}-{len(before)}-{hash(str(steps))}" for kind in ("plain", "gathered")]
    memory = Remembered(dynamo.checkpoints, dynamo.client, plain.calls, pks[1], 0).memory
    for pk in pks:
        plain.put_many({"pk": {"S": pk}, "sk": {"S": key}, "v": {"N": "0"}} for key in before)
    outbox = _outbox(dynamo, pks[1], memory)
    for low in ("c!a!", "w!a!"):
        list(outbox.query(pks[1], low, keys.after(low)))
    for number, (what, key) in enumerate(steps):
        if what == "send" or key in {item["sk"]["S"] for item in outbox.kept}:
            outbox.send()
            outbox = _outbox(dynamo, pks[1], memory)
        for table, pk in ((plain, pks[0]), (outbox, pks[1])):
            if what == "put":
                table.put({"pk": {"S": pk}, "sk": {"S": key}, "v": {"N": str(number)}})
            elif what == "update":
                values = {":v": {"N": str(number)}, ":w": {"N": str(number)}}
                table.update(pk, key, UpdateExpression="SET v = if_not_exists(v, :v), w = :w", ExpressionAttributeValues=values)
    outbox.send()
    stored = [_contents(plain, pk) for pk in pks]
    assert stored[0] == stored[1]
    assert _contents(_outbox(dynamo, pks[1], memory), pks[1]) == stored[0]  # as it is remembered


def _outbox(dynamo: Dynamo, pk: str, memory: Any) -> Outbox:
    return Outbox(dynamo.checkpoints, dynamo.client, Calls(), pk, 0, memory)


def _contents(table: Table, pk: str) -> dict[str, Item]:
    found = [item for low in ("c!a!", "w!a!") for page in table.query(pk, low, keys.after(low)) for item in page]
    return {item["sk"]["S"]: {name: value for name, value in item.items() if name != "pk"} for item in found}


async def begun(saver: DynamoDBSaver) -> RunnableConfig:
    """The thread was read, as every run does first, and has one checkpoint."""
    assert await saver.aget_tuple(config("t", None)) is None
    return await saver.aput(config("t", None), checkpoint({"a": 1}), {}, {})


async def test_writes_of_one_task_come_one_after_another(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """The first of a position stays, an error and an interrupt lie beside it, and a list over several items is whole or absent."""
    saver = held(make_saver())
    parent = await begun(saver)
    many = [(f"channel{number}", number) for number in range(120)]
    await asyncio.gather(
        saver.aput_writes(parent, [("a", "first")], "task"),
        saver.aput_writes(parent, [("a", "second")], "task"),
        saver.aput_writes(parent, [(ERROR, "broken"), (INTERRUPT, "?")], "task"),
        saver.aput_writes(parent, many, "long"),
    )
    for reader in (saver, make_saver()):
        found = await reader.aget_tuple(config("t"))
        assert found is not None
        pending = found.pending_writes or []
        assert {(c, v) for t, c, v in pending if t == "task"} == {(ERROR, "broken"), (INTERRUPT, "?"), ("a", "first")}
        assert sorted(value for task, _, value in pending if task == "long") == list(range(120))


async def test_what_a_broken_batch_leaves(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Half of it applied, and then the table is away: every caller hears of it, and nothing is remembered that is not there."""
    client = dynamo.fresh_client()
    saver = held(make_saver(client=client))
    parent = await begun(saver)
    with Faults(client).inject(Fault.HALF_DONE, operation="BatchWriteItem", times=math.inf):
        ended = await asyncio.gather(
            *(saver.aput_writes(parent, [("a", number)], f"task{number}") for number in range(2)), return_exceptions=True
        )
    assert [type(error).__name__ for error in ended] == ["InternalServerError"] * 2
    reads = [await reader.aget_tuple(config("t")) for reader in (saver, make_saver())]
    assert [found and len(found.pending_writes or []) for found in reads] == [1, 1]
    await asyncio.gather(*(saver.aput_writes(parent, [("a", number)], f"task{number}") for number in range(2)))
    found = await make_saver().aget_tuple(config("t"))
    assert found is not None
    assert sorted(value for _, _, value in found.pending_writes or ()) == [0, 1]


async def test_leftovers_of_a_batch_are_sent_again(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    client = dynamo.fresh_client()
    saver = held(make_saver(client=client))
    parent = await begun(saver)
    with Faults(client).leave_unprocessed(1) as faults:
        await asyncio.gather(*(saver.aput_writes(parent, [("a", number)], f"task{number}") for number in range(3)))
    assert faults.injected == 1
    found = await make_saver().aget_tuple(config("t"))
    assert found is not None
    assert sorted(value for _, _, value in found.pending_writes or ()) == [0, 1, 2]


async def test_an_error_is_its_callers_alone(make_saver: MakeSaver) -> None:
    """What cannot be serialised is no reason not to store the others."""
    saver = held(make_saver())
    parent = await begun(saver)
    wrong, right = await asyncio.gather(
        saver.aput_writes(parent, [("a", lambda: None)], "wrong"), saver.aput_writes(parent, [("a", 1)], "right"), return_exceptions=True
    )
    assert isinstance(wrong, TypeError)
    assert right is None
    found = await make_saver().aget_tuple(config("t"))
    assert found is not None
    assert [task for task, _, _ in found.pending_writes or ()] == ["right"]


async def test_a_nested_graph_on_a_loop_of_its_own(make_saver: MakeSaver) -> None:
    """A sync node may start one, in the thread that LangGraph runs it in; three at once, and the run's own writes beside them."""
    nested = StateGraph(Log).add_node("inner", lambda _: {"log": ["inner"]}).add_edge(START, "inner").compile()

    def node(_: Log) -> Log:
        return asyncio.run(nested.ainvoke({"log": []}))  # type: ignore[return-value]  # LangGraph types every output as Any

    builder = StateGraph(Log)
    for number in range(3):
        builder.add_node(f"outer{number}", node).add_edge(START, f"outer{number}")  # type: ignore[arg-type]  # a state as in any graph
    for turn_number in range(3):
        at = config(f"t{turn_number}", None)
        graph = builder.compile(checkpointer=held(make_saver(), f"t{turn_number}"))
        await asyncio.wait_for(graph.ainvoke({"log": []}, at, durability="sync"), 60)
        assert (await builder.compile(checkpointer=make_saver()).aget_state(at)).values == {"log": ["inner"] * 3}


async def test_who_is_cancelled_leaves_it_to_be_stored() -> None:
    """A run that is stopped does not take back what it has handed over."""
    sent: list[Store] = []
    go = asyncio.Event()

    async def send(stores: Sequence[Store]) -> list[None]:
        await go.wait()
        sent.extend(stores)
        return [None] * len(stores)

    def store(_: Table) -> None:
        """Nothing: `send` says what it was handed."""

    gathering = Gathering(send)
    waiting = asyncio.create_task(gathering.add("a", store))
    await asyncio.sleep(0.01)
    waiting.cancel()
    later = asyncio.create_task(gathering.add("a", store))
    await asyncio.sleep(0.01)
    assert sent == []
    go.set()
    await asyncio.wait_for(later, 5)
    assert waiting.cancelled()
    assert len(sent) == 2
