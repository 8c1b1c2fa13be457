"""Real graphs: written through one saver, read by a fresh one, as two processes would."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from functions.store.checkpoints import DynamoDBSaver
from tests.functions.store.conftest import MakeSaver
from tests.support import graphs
from tests.support.checkpoints import checkpoint, config, put
from tests.support.dynamodb import Dynamo, Recorder
from tests.support.meter import Meter


@pytest.mark.parametrize("make_graph", [graphs.approval, graphs.nested_approval])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_interrupt_and_resume_by_another_saver(make_saver: MakeSaver, make_graph: Any, durability: Any) -> None:
    """The interrupt is there for whoever reads next; its answer runs the rest once, also inside a nested graph."""
    paid: list[int] = []
    at = config("t", None)
    asked = await make_graph(make_saver(), paid).ainvoke({"log": []}, at, durability=durability)
    waiting = await make_graph(make_saver(), paid).aget_state(at, subgraphs=True)
    assert [one.value for one in waiting.interrupts] == [one.value for one in asked["__interrupt__"]] == [{"price": 7}]
    assert paid == []
    answer: Command[Any] = Command(resume={waiting.interrupts[0].id: "yes"})
    done = await make_graph(make_saver(), paid).ainvoke(answer, at, durability=durability)
    assert [entry for entry in done["log"] if entry not in ("before", "after")][-3:] == ["quoted", "answered yes", "paid"]
    assert paid == [7]


def test_sync_resume(make_saver: MakeSaver) -> None:
    """The same without a loop."""
    paid: list[int] = []
    graphs.approval(make_saver(), paid).invoke({"log": []}, config("t", None))
    done = graphs.approval(make_saver(), paid).invoke(Command(resume="no"), config("t", None))
    assert (done["log"], paid) == (["quoted", "answered no", "paid"], [7])


def test_a_failed_task_alone_runs_again(make_saver: MakeSaver) -> None:
    """Of sixty parallel tasks one fails: the next process runs only that one, from the writes of the others."""
    ran: list[int] = []
    with pytest.raises(RuntimeError, match="task 31"):
        graphs.fan_out(make_saver(), {31}, ran).invoke({"done": []}, config("t", None), durability="sync")
    before = set(ran)
    done = graphs.fan_out(make_saver(), set(), ran).invoke(None, config("t", None))
    assert done["done"] == list(range(60))
    assert len(ran) == 60
    assert 31 not in before


@pytest.mark.parametrize("make", ["memory", "dynamo"])
def test_history_update_and_fork(make_saver: MakeSaver, make: str) -> None:
    """Time travel: the state before a step is read, changed and run again; LangGraph's own saver does the same."""
    saver: BaseCheckpointSaver[Any] = InMemorySaver() if make == "memory" else make_saver()
    paid: list[int] = []
    graph = graphs.approval(saver, paid)
    at = config("t", None)
    graph.invoke({"log": []}, at)
    graph.invoke(Command(resume="yes"), at)
    history = list(graph.get_state_history(at))
    assert [state.next for state in history] == [(), ("pay",), ("ask",), ("quote",), ("__start__",)]
    forked = graph.update_state(history[1].config, {"log": ["changed"]}, as_node="ask")
    done = graph.invoke(None, forked)
    assert done["log"] == ["quoted", "answered yes", "changed", "paid"]
    assert graph.get_state(at).values["log"] == done["log"]
    assert len(list(graph.get_state_history(at))) == 7


def test_a_long_prompt_in_the_config_is_not_stored_with_every_step(make_saver: MakeSaver) -> None:
    """Short texts of `configurable` are there to filter by; 32,000 characters would be paid for at every checkpoint."""
    saver = make_saver()
    at: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "kbId": "sample", "userPrompt": "x" * 32_000}}
    saver.put(at, empty_checkpoint(), {"source": "input", "step": -1}, {})
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.metadata == {"source": "input", "step": -1, "kbId": "sample"}


def test_user_metadata_does_not_break_the_thread(make_saver: MakeSaver) -> None:
    """A run whose metadata has `step`, `source` and `parents` keeps LangGraph's own, and the second turn runs."""
    graph = graphs.tool_loop(make_saver())
    at: Any = config("t", None) | {"metadata": {"step": "mine", "source": "mine", "parents": "mine", "tag": "x"}}
    for _ in range(2):
        graph.invoke({"messages": graphs.messages(1)}, at)
    latest = graph.get_state(at)
    assert latest.metadata is not None
    assert (latest.metadata["source"], type(latest.metadata["step"]), latest.metadata["tag"]) == ("loop", int, "x")  # type: ignore[typeddict-item]


# cost

RUN_CALLS = 20
RUN_UNITS = 45


@pytest.mark.parametrize("history", [20])
async def test_calls_and_units_of_a_run(dynamo: Dynamo, make_saver: MakeSaver, history: int) -> None:
    """Five super-steps with two parallel tools twice on 20 messages of 200 characters (checkpoint-aws: 51 calls, 114 units)."""
    client = dynamo.fresh_client()
    cost = Meter(client)
    await graphs.tool_loop(make_saver(client=client)).ainvoke({"messages": graphs.messages(history)}, config("t", None), durability="sync")
    assert cost.calls <= RUN_CALLS
    assert cost.write_units <= RUN_UNITS


def test_a_turn_of_a_delta_channel_costs_a_few_calls(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """At turn 12 the history is read in two queries per page (checkpoint-aws: 469 calls), and is what InMemorySaver rebuilds."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    memory = graphs.delta_log(InMemorySaver())
    for turn in range(12):
        calls.calls.clear()
        done = graphs.delta_log(make_saver(client=client)).invoke({"log": [f"turn {turn}"]}, config("t", None))
        assert done == memory.invoke({"log": [f"turn {turn}"]}, config("t", None))
    assert len(calls.operations) <= 15


# delta channels under upkeep


async def test_delta_channels_survive_forks_copies_and_prune(make_saver: MakeSaver) -> None:
    """A fork reads only its own path; a copy and a pruned thread rebuild the same state."""
    saver = make_saver()
    graph = graphs.delta_log(saver)
    at = config("t", None)
    for turn in range(3):
        await graph.ainvoke({"log": [f"turn {turn}"]}, at)
    old = [state.config async for state in graph.aget_state_history(at)][4]
    await graph.ainvoke({"log": ["fork"]}, old)
    expected = (await graph.aget_state(at)).values
    assert "turn 2" not in expected["log"]
    assert expected["log"][-3] == "fork"
    await saver.acopy_thread("t", "copy")
    await saver.aprune(["t"])
    assert len([one async for one in saver.alist(config("t"))]) < len([one async for one in saver.alist(config("copy"))])
    for thread_id in ("t", "copy"):
        assert (await graph.aget_state(config(thread_id, None))).values == expected


def test_a_chain_out_of_order_is_walked(saver: DynamoDBSaver) -> None:
    """A parent with a greater id (another machine's clock was ahead) is found all the same."""
    first = saver.put(config("t"), _with_id("9", {"log": ["seed"]}), {}, {})
    saver.put_writes(first, [("log", ["a"])], "task")
    second = saver.put(first, _with_id("1", {}), {}, {})
    saver.put_writes(second, [("log", ["pending"])], "task")
    found = saver.get_delta_channel_history(config=second, channels=["log"])
    assert found == {"log": {"writes": [("task", "log", ["a"])], "seed": ["seed"]}}


def _with_id(checkpoint_id: str, values: dict[str, Any]) -> Any:
    return checkpoint(values, checkpoint_id)


# serialisers


def test_the_allowlist_of_a_copy_is_used(make_saver: MakeSaver) -> None:
    """`with_allowlist` returns a saver that reads the types it was given; the strict one it came from still does not."""
    strict = make_saver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    allowing = strict.with_allowlist({(graphs.Money.__module__, "Money")})
    put(allowing, config("t"), {"price": graphs.Money(7)})
    for view, expected in ((allowing, graphs.Money(7)), (strict, {"amount": 7}), (allowing, graphs.Money(7))):
        found = view.get_tuple(config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"price": expected}


def test_strict_msgpack(dynamo: Dynamo) -> None:
    """With LANGGRAPH_STRICT_MSGPACK=true a graph gets its schema's dataclass back from a fresh saver."""
    code = f"""
from functions.store.checkpoints import DynamoDBSaver
from tests.support.checkpoints import config
from tests.support.graphs import approval
from langgraph.types import Command
paid = []
make = lambda: approval(DynamoDBSaver({dynamo.checkpoints!r}, endpoint_url={dynamo.endpoint!r}), paid)
make().invoke({{"log": []}}, config("t", None))
print(make().invoke(Command(resume="yes"), config("t", None))["price"], paid)
"""
    env = os.environ | {"LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=90, check=False)
    assert (done.stdout.strip(), done.stderr) == ("Money(amount=7) [7]", "")


@pytest.mark.parametrize(("current", "following"), [(None, 1), (41, 42), ("0009.0.5", "0010.0.5")])
def test_versions_go_on_where_another_saver_stopped(saver: DynamoDBSaver, current: Any, following: Any) -> None:
    """Integers, and the strings of a thread that was copied from another saver."""
    assert saver.get_next_version(current, None) == following
