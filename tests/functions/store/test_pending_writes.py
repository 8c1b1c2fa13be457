"""Pending writes: which value a slot keeps, in which order they come back, and what does not fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, SCHEDULED

from functions.store.checkpoints import DynamoDBSaver
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import config, noise, put
from tests.support.dynamodb import Dynamo, Recorder

Writes = list[tuple[str, Any]]


@pytest.fixture(params=["memory", "moto", "dynalite"])
def any_saver(request: pytest.FixtureRequest) -> BaseCheckpointSaver[Any]:
    """The same claims hold for LangGraph's own saver: a wrong expectation shows."""
    if request.param == "memory":
        return InMemorySaver()
    server: Dynamo = request.getfixturevalue("dynamo" if request.param == "moto" else "dynalite")
    return DynamoDBSaver(server.checkpoints, client=server.client)


def _stored(saver: BaseCheckpointSaver[Any], *puts: tuple[str, str, Writes]) -> list[tuple[str, str, Any]]:
    """Pending writes after put_writes of every (task id, path, writes)."""
    at = put(saver, config("t"))
    for task_id, path, writes in puts:
        saver.put_writes(at, writes, task_id, path)
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.pending_writes is not None
    return found.pending_writes


def _values(count: int, start: int = 0) -> Writes:
    return [("ch", start + number) for number in range(count)]


@pytest.mark.parametrize("count", [1, 11, 51, 120])
def test_writes_of_a_task_keep_their_order(any_saver: BaseCheckpointSaver[Any], count: int) -> None:
    """The tenth write comes after the second, also when a task fills several items."""
    assert [value for _, _, value in _stored(any_saver, ("task", "", _values(count)))] == list(range(count))


def test_tasks_come_in_the_order_of_their_paths(any_saver: BaseCheckpointSaver[Any]) -> None:
    """By (path, task id, position): the order live execution applies them in."""
    found = _stored(any_saver, ("a", "~2", _values(2)), ("c", "~1", _values(2)), ("b", "~1", _values(2)), ("z", "", _values(1)))
    assert [(task, value) for task, _, value in found] == [("z", 0), ("b", 0), ("b", 1), ("c", 0), ("c", 1), ("a", 0), ("a", 1)]


def test_the_first_write_of_a_slot_stays(any_saver: BaseCheckpointSaver[Any]) -> None:
    """A repeated list adds what is new behind what is there."""
    found = _stored(any_saver, ("task", "", _values(2)), ("task", "", _values(3, start=100)))
    assert [value for _, _, value in found] == [0, 1, 102]


@pytest.mark.parametrize("channel", [ERROR, SCHEDULED, INTERRUPT, RESUME])
def test_a_special_slot_is_overwritten(any_saver: BaseCheckpointSaver[Any], channel: str) -> None:
    """Error, schedule, interrupt and resume have one slot each per task, and the last value counts."""
    found = _stored(any_saver, ("task", "", [(channel, "old")]), ("task", "", [("ch", 1), (channel, "new")]))
    assert sorted((name, value) for _, name, value in found) == sorted([(channel, "new"), ("ch", 1)])


def test_special_values_survive(any_saver: BaseCheckpointSaver[Any]) -> None:
    """None, empty bytes and text, and sets are values and not absences."""
    values: list[Any] = [None, b"", "", {1, 2}, {}, [], 0, False, "🙂 ünïcode"]
    found = _stored(any_saver, ("task", "", [("ch", value) for value in values]))
    assert [value for _, _, value in found] == values


def test_one_call_for_all_writes_of_a_task(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Six regular writes and an interrupt are one request."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    saver = make_saver(client=client)
    saver.get_tuple(config("t"))  # as every run begins
    saver.put_writes(config("t", "", "1"), [*_values(6), (INTERRUPT, "?")], "task")
    assert calls.operations == ["Query", "UpdateItem"]


def test_parallel_writers_lose_nothing(saver: DynamoDBSaver) -> None:
    """Sixteen tasks at once, eight writes each: all there, each task's in order."""
    at = put(saver, config("t"))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: saver.put_writes(at, _values(8, start=n * 8), f"task-{n:02d}", f"~{n:02d}"), range(16)))
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert [value for _, _, value in found.pending_writes or []] == list(range(128))


def test_racing_writers_of_one_task_leave_one_list(saver: DynamoDBSaver) -> None:
    """Two runs of the same task at once: the slots hold one list, not a mix of both."""
    at = put(saver, config("t"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: saver.put_writes(at, [("ch", n)] * 5, "task"), range(8)))
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert len({value for _, _, value in found.pending_writes or []}) == 1


def test_pending_writes_over_a_page_are_all_read(saver: DynamoDBSaver) -> None:
    """3 MB of writes of one checkpoint are three pages of a query."""
    found = _stored(saver, *((f"task-{n:02d}", "", [("ch", noise(250_000, n))]) for n in range(12)))
    assert [(task, len(value)) for task, _, value in found] == [(f"task-{n:02d}", 250_000) for n in range(12)]


def test_a_task_without_its_first_item_is_not_read(dynamo: Dynamo, saver: DynamoDBSaver) -> None:
    """Killed between the items of a large task, its writes are absent: half of them would make the task look done."""
    at = put(saver, config("t"))
    saver.put_writes(at, _values(120), "task")
    first = next(item for item in dynamo.items() if item["sk"]["S"].endswith("!00000"))
    dynamo.client.delete_item(TableName=dynamo.checkpoints, Key={"pk": first["pk"], "sk": first["sk"]})
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.pending_writes == []


def test_an_item_that_grows_over_the_limit(dynalite: Dynamo) -> None:
    """Five times 120 KB for one task: what the item cannot take any more moves out of it. (moto counts such an update twice.)"""
    saver = DynamoDBSaver(dynalite.checkpoints, client=dynalite.client)
    values = [noise(120_000, seed) for seed in range(5)]
    puts: list[tuple[str, str, Writes]] = [("task", "", [("ch", b"")] * seed + [("ch", value)]) for seed, value in enumerate(values)]
    assert [value for _, _, value in _stored(saver, *puts)] == values
