"""Pending writes: which value a slot keeps, and in which order they come back."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, SCHEDULED

from tests.functions.store.behaviour.putting import pending, put, write
from tests.functions.store.behaviour.stores import Store
from tests.support.checkpoints import config

SPECIAL = (ERROR, SCHEDULED, INTERRUPT, RESUME)


def thirty_writes_of_a_task_keep_their_order(store: Store) -> None:
    """The tenth write comes after the second."""
    at = put(store.saver(), config("t"))
    write(store.saver(), at, [("ch", number) for number in range(30)])
    assert pending(store.saver(), at) == [("task", "ch", number) for number in range(30)]


def tasks_come_in_the_order_of_their_paths(store: Store) -> None:
    """By (path, task id, position), which is the order a running graph applies them in; not by task id alone."""
    at = put(store.saver(), config("t"))
    for task_id, path in (("a", "~2"), ("c", "~1"), ("b", "~1"), ("z", "")):
        write(store.saver(), at, [("ch", 0), ("ch", 1)], task_id, path)
    assert [task for task, _, _ in pending(store.saver(), at)] == ["z", "z", "b", "b", "c", "c", "a", "a"]


def the_first_write_of_a_slot_stays(store: Store) -> None:
    """A task that is repeated does not change what it wrote, and adds what is new."""
    at = put(store.saver(), config("t"))
    write(store.saver(), at, [("ch", "first"), ("ch", "second")])
    write(store.saver(), at, [("ch", "x"), ("ch", "x"), ("ch", "third")])
    assert [value for _, _, value in pending(store.saver(), at)] == ["first", "second", "third"]


def special_slots_are_overwritten(store: Store) -> None:
    """Error, schedule, interrupt and resume have one slot each per task; the last value counts."""
    at = put(store.saver(), config("t"))
    for value in ("old", "new"):
        for channel in SPECIAL:
            write(store.saver(), at, [(channel, value)])
    found = [(channel, value) for _, channel, value in pending(store.saver(), at)]
    assert sorted(found) == sorted((channel, "new") for channel in SPECIAL)


def special_slots_leave_regular_writes_alone(store: Store) -> None:
    """An interrupt in the first place does not take the slot of the first regular write, in either order."""
    at = put(store.saver(), config("t"))
    write(store.saver(), at, [(INTERRUPT, "?")])
    write(store.saver(), at, [("ch", 1), ("ch", 2)])
    write(store.saver(), at, [(RESUME, ["yes"]), (ERROR, "boom")])
    found = {(channel, str(value)) for _, channel, value in pending(store.saver(), at)}
    assert found == {(INTERRUPT, "?"), ("ch", "1"), ("ch", "2"), (RESUME, "['yes']"), (ERROR, "boom")}


def writes_belong_to_their_checkpoint(store: Store) -> None:
    """Not to the next one, nor to the one of another namespace or thread."""
    places = [config("t"), config("t", "child"), config("u")]
    for number, place in enumerate(places):
        at = put(store.saver(), place)
        write(store.saver(), at, [("ch", number)])
        assert pending(store.saver(), at) == [("task", "ch", number)]
        later = put(store.saver(), at)
        assert pending(store.saver(), later) == []
        assert pending(store.saver(), at) == [("task", "ch", number)]


def an_empty_list_of_writes_is_no_error(store: Store) -> None:
    """LangGraph may have none to store."""
    at = put(store.saver(), config("t"))
    write(store.saver(), at, [])
    assert pending(store.saver(), at) == []


def forty_tasks_beside_each_other(store: Store) -> None:
    """All of them are there, each with its own writes."""
    at: Any = put(store.saver(), config("t"))
    saver = store.saver()
    for number in range(40):
        write(saver, at, [("a", number), ("b", -number)], f"task-{number:03d}")
    expected = [(f"task-{n:03d}", channel, sign * n) for n in range(40) for channel, sign in (("a", 1), ("b", -1))]
    assert pending(store.saver(), at) == expected
