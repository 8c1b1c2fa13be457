"""`DeltaChannel`: of a long list only what was added is stored; the state is rebuilt from the writes of the ancestors."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from tests.functions.store.behaviour.putting import put, write
from tests.functions.store.behaviour.stores import Saver, Store
from tests.support import graphs
from tests.support.checkpoints import config
from tests.support.dynamodb import Recorder

AT: Any = config("t", None)
ANCESTORS = 24
"""A page of ours holds 32."""


def a_delta_channel_is_rebuilt(store: Store) -> None:
    """Turn by turn what LangGraph's own saver rebuilds, also past a snapshot."""
    memory = graphs.delta_log(InMemorySaver())
    for turn in range(12):
        said = {"log": [f"turn {turn}"]}
        found, expected = graphs.delta_log(store.saver()).invoke(said, AT), memory.invoke(said, AT)
        assert sorted(found["log"]) == sorted(expected["log"])
    assert sorted(graphs.delta_log(store.saver()).get_state(AT).values["log"]) == sorted(expected["log"])


def parallel_additions_in_the_order_of_the_run(store: Store) -> None:
    """Rebuilt by another process the list is the one that the run had, not one in the order of the tasks' ids."""
    for turn in range(3):
        said = graphs.delta_log(store.saver()).invoke({"log": [str(turn)]}, AT)
        assert graphs.delta_log(store.saver()).get_state(AT).values == said


def a_fork_reads_its_own_path(store: Store) -> None:
    """What was added on the other branch is no part of it."""
    graph = graphs.delta_log(store.saver())
    for turn in range(3):
        graph.invoke({"log": [f"turn {turn}"]}, AT)
    past = list(graph.get_state_history(AT))[4]
    assert "turn 2" not in past.values["log"]
    graphs.delta_log(store.saver()).invoke({"log": ["fork"]}, past.config)
    found = graphs.delta_log(store.saver()).get_state(AT).values["log"]
    assert found[: len(past.values["log"])] == past.values["log"]
    assert ("turn 2" in found, "fork" in found) == (False, True)


def a_delta_history_in_two_queries(store: Store) -> None:
    """One page of ancestors and their writes: two queries however long it is, not some per ancestor."""
    saver = store.watched()
    at = put(saver, config("t"), {"log": ["seed"]})
    for number in range(ANCESTORS):
        write(saver, at, [("log", [str(number)])])
        at = put(saver, at)
    calls = [Recorder(client) for client in store.clients(saver)]
    found = saver.get_delta_channel_history(config=at, channels=["log"])["log"]
    assert (found["seed"], [value for _, _, value in found["writes"]]) == (["seed"], [[str(number)] for number in range(ANCESTORS)])
    assert sum(len(recorder.calls) for recorder in calls) <= 2


def a_late_turn_costs_as_many_calls_as_an_early_one(store: Store) -> None:
    """With a thread that grows, the calls of a turn do not."""
    counts = [_calls_of_a_turn(store, store.watched()) for _ in range(7)]
    assert counts[-1] <= counts[1] + 3, counts


def _calls_of_a_turn(store: Store, saver: Saver) -> int:
    calls = [Recorder(client) for client in store.clients(saver)]
    graphs.delta_log(saver).invoke({"log": ["more"]}, AT)
    return sum(len(recorder.calls) for recorder in calls)
