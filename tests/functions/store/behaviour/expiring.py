"""Threads that expire."""

from __future__ import annotations

from typing import Any

from tests.functions.store.behaviour.putting import later, latest, put, write
from tests.functions.store.behaviour.stores import Store
from tests.support import graphs
from tests.support.checkpoints import config

TTL = 1_000
AT: Any = config("t", None)


def what_has_expired_is_not_served(store: Store) -> None:
    """DynamoDB removes it up to days later; until then it is there and must not be read."""
    at = put(store.saver(ttl_seconds=TTL), config("t"))
    write(store.saver(ttl_seconds=TTL), at, [("ch", 1)])
    with later(2 * TTL):
        saver = store.saver(ttl_seconds=TTL)
        assert (saver.get_tuple(config("t")), saver.get_tuple(at), list(saver.list(config("t")))) == (None, None, [])


def what_has_not_expired_is_served(store: Store) -> None:
    """With its writes, until the last second."""
    at = put(store.saver(ttl_seconds=TTL), config("t"), {"n": 1})
    write(store.saver(ttl_seconds=TTL), at, [("ch", 1)])
    with later(TTL - 5):
        store.expire()
        assert latest(store.saver(ttl_seconds=TTL), "t").pending_writes == [("task", "ch", 1)]


def nothing_is_left_when_it_expires(store: Store) -> None:
    """DynamoDB's own deletion takes checkpoints, writes and the values of both."""
    at = put(store.saver(ttl_seconds=TTL), config("t"), {"n": 1})
    write(store.saver(ttl_seconds=TTL), at, [("ch", 1)])
    with later(2 * TTL):
        store.expire()
    assert store.content() == []


def a_thread_in_use_stays_whole(store: Store) -> None:
    """What the state is rebuilt from does not expire before the thread does."""
    for turn in range(3):
        with later(turn * 0.6 * TTL):
            store.expire()
            said = graphs.delta_log(store.saver(ttl_seconds=TTL)).invoke({"log": [f"turn {turn}"]}, AT)
    assert [entry for entry in said["log"] if entry.startswith("turn")] == ["turn 0", "turn 1", "turn 2"]


def a_question_that_was_read_lives_on(store: Store) -> None:
    """Whoever looks at a waiting thread may answer for as long again."""
    paid: list[int] = []
    graphs.approval(store.saver(ttl_seconds=TTL), paid).invoke({"log": []}, AT)
    with later(0.8 * TTL):
        assert graphs.approval(store.saver(ttl_seconds=TTL), paid).get_state(AT).interrupts
    with later(1.6 * TTL):
        store.expire()
        assert graphs.approval(store.saver(ttl_seconds=TTL), paid).get_state(AT).interrupts
