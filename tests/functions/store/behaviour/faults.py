"""What AWS does and no emulator does: reads that lag, calls that are throttled or left undone, a process that ends between two calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from langgraph.checkpoint.serde.types import ERROR, INTERRUPT
from langgraph.types import Command

from tests.functions.store.behaviour.putting import LARGE, Writes, pending, put, put_large, values, write
from tests.functions.store.behaviour.stores import Saver, Store
from tests.support import graphs
from tests.support.checkpoints import config, noise
from tests.support.dynamodb_faults import Fault, Faults

AT: Any = config("t", None)
MOST_CALLS = 100
"""More than any saver makes for one checkpoint or one list of writes."""


class Killed(BaseException):
    """The process ends here."""


def a_read_after_a_write_sees_it(store: Store) -> None:
    """The latest checkpoint, one by its id, the history and the writes, although reads may lag."""
    store.lag()
    saver = store.saver()
    at = config("t")
    for step in range(5):
        at = put(saver, at, {"n": step}, step=step)
        assert (values(saver, "t"), values(saver, at)) == ({"n": step}, {"n": step})
        write(saver, at, [("ch", step)])
        assert pending(saver, "t") == [("task", "ch", step)]
        assert [one.metadata["step"] for one in saver.list(config("t"))] == list(range(step + 1))[::-1]


def an_answer_right_after_the_question(store: Store) -> None:
    """Although reads may lag the question is there, the answer reaches it, and what was paid before is not paid again."""
    store.lag()
    paid: list[int] = []
    for turn in (1, 2):
        graphs.approval(store.saver(), paid).invoke({"log": []}, AT)
        assert len(graphs.approval(store.saver(), paid).get_state(AT).interrupts) == 1
        done = graphs.approval(store.saver(), paid).invoke(Command(resume="yes"), AT)
        assert (done["log"], paid) == (["quoted", "answered yes", "paid"] * turn, [7] * turn)


def throttled_calls_are_repeated(store: Store) -> None:
    """One refusal of each kind costs a pause and nothing else."""
    saver = store.watched()
    with ExitStack() as stack:
        for client in store.clients(saver):
            for operation in ("PutItem", "UpdateItem", "Query", "GetItem", "BatchWriteItem"):
                stack.enter_context(Faults(client).inject(Fault.THROTTLED, operation=operation))
        at = put(saver, config("t"), {"n": 1})
        write(saver, at, [("ch", 1), ("ch", 2)])
        assert (values(saver, "t"), pending(saver, at)) == ({"n": 1}, [("task", "ch", 1), ("task", "ch", 2)])


def _leaving_items_undone(store: Store, act: Callable[[Saver], object]) -> None:
    saver = store.watched()
    with ExitStack() as stack:
        for client in store.clients(saver):
            stack.enter_context(Faults(client).leave_unprocessed(times=2))
        act(saver)


def writes_that_a_batch_left_undone(store: Store) -> None:
    """DynamoDB may do a batch in part; in the end no write is lost."""
    at = put(store.saver(), config("t"))
    _leaving_items_undone(store, lambda saver: write(saver, at, [("ch", number) for number in range(8)]))
    assert [value for _, _, value in pending(store.saver(), at)] == list(range(8))


def deletions_that_a_batch_left_undone(store: Store) -> None:
    """In the end nothing is left."""
    at = put(store.saver(), put(store.saver(), config("t")))
    write(store.saver(), at, [("ch", 1), ("ch", 2)])
    _leaving_items_undone(store, lambda saver: saver.delete_thread("t"))
    assert store.content() == []


def _cut(store: Store, calls: int, act: Callable[[Saver], object]) -> bool:
    """`act` in a process that ends before its call number `calls`. False: it did not get so far."""
    saver, made = store.watched(), iter(range(calls))

    def count(**_: Any) -> None:
        if next(made, None) is None:
            raise Killed

    for client in store.clients(saver):
        client.meta.events.register("before-send.dynamodb", count)
    try:
        act(saver)
    except Killed:
        return True
    return False


def a_checkpoint_that_was_cut_off(store: Store) -> None:
    """Killed between any two calls: the state is the previous one or the new one, and all that is listed can be read."""
    at = put(store.saver(), config("t"), {"blob": noise(1_000)}, step=0)
    for calls in range(MOST_CALLS):
        killed = _cut(store, calls, lambda saver: put(saver, at, {"blob": noise(2_000)}, step=1))
        for found in [store.saver().get_tuple(config("t")), *store.saver().list(config("t"))]:
            assert found is not None
            assert found.checkpoint["channel_values"]["blob"] == noise(1_000 * (found.metadata["step"] + 1))
        if not killed:
            break


def a_large_checkpoint_that_was_cut_off(store: Store) -> None:
    """The same where its value lies elsewhere."""
    at = put_large(store.saver(), "t")
    for calls in range(MOST_CALLS):
        killed = _cut(store, calls, lambda saver: put(saver, at, {"blob": noise(600_000)}, step=1))
        assert values(store.saver(), "t")["blob"] in (LARGE, noise(600_000))
        if not killed:
            break


def a_question_that_was_cut_off(store: Store) -> None:
    """Killed while the interrupt is written: it is there with its value or not at all."""
    _cut_writes(store, [(INTERRUPT, {"price": 7})])


def a_list_of_writes_that_was_cut_off(store: Store) -> None:
    """Killed while a task's writes are stored: all or none. Half of them would make the task look done."""
    _cut_writes(store, [("ch", number) for number in range(8)])


def _cut_writes(store: Store, writes: Writes) -> None:
    at = put(store.saver(), config("t"))
    for calls in range(MOST_CALLS):
        task_id = f"task-{calls:03d}"
        killed = _cut(store, calls, partial(write, at=at, writes=writes, task_id=task_id))
        found = [(channel, value) for whose, channel, value in pending(store.saver(), at) if whose == task_id]
        assert found in ([], writes)
        if not killed:
            break


def a_long_list_that_was_cut_off_and_failed_next_time(store: Store) -> None:
    """The task runs again and raises: its error does not make half of the first run's writes count."""
    at = put(store.saver(), config("t"))
    expected = [(f"ch-{number:02d}", number) for number in range(60)]
    for calls in range(MOST_CALLS):
        task_id = f"task-{calls:03d}"
        killed = _cut(store, calls, partial(write, at=at, writes=expected, task_id=task_id))
        write(store.saver(), at, [(ERROR, "boom")], task_id)
        found = [(channel, value) for whose, channel, value in pending(store.saver(), at) if whose == task_id and channel != ERROR]
        assert sorted(found) in ([], expected)
        if not killed:
            break
