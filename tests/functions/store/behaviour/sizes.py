"""What is larger than DynamoDB's item of 400 KB or its page of 1 MB."""

from __future__ import annotations

from tests.functions.store.behaviour.putting import pending, put, values, write
from tests.functions.store.behaviour.stores import Store
from tests.support.checkpoints import config, noise


def a_checkpoint_over_400_kb(store: Store) -> None:
    """A long conversation does not end the thread: the state comes back whole, and the next one too."""
    at = put(store.saver(), config("t"), {"blob": noise(450_000)})
    assert values(store.saver(), "t") == {"blob": noise(450_000)}
    put(store.saver(), at, {"blob": noise(1_300_000)})
    assert values(store.saver(), "t") == {"blob": noise(1_300_000)}
    assert values(store.saver(), at) == {"blob": noise(450_000)}


def a_write_over_400_kb(store: Store) -> None:
    """One screenshot as a tool's result."""
    at = put(store.saver(), config("t"))
    write(store.saver(), at, [("small", 1), ("ch", noise(450_000)), ("small", 2)])
    assert pending(store.saver(), at) == [("task", "small", 1), ("task", "ch", noise(450_000)), ("task", "small", 2)]


def pending_writes_over_a_megabyte(store: Store) -> None:
    """Of many tasks of one step: all are read, in order."""
    at = put(store.saver(), config("t"))
    saver = store.saver()
    for number in range(6):
        write(saver, at, [("ch", noise(250_000, number))], f"task-{number}")
    assert pending(store.saver(), at) == [(f"task-{n}", "ch", noise(250_000, n)) for n in range(6)]


def one_task_with_writes_over_400_kb(store: Store) -> None:
    """Each fits into an item, together they do not."""
    at = put(store.saver(), config("t"))
    write(store.saver(), at, [("ch", noise(150_000, number)) for number in range(4)])
    assert pending(store.saver(), at) == [("task", "ch", noise(150_000, n)) for n in range(4)]
