"""Ids that the application chooses."""

from __future__ import annotations

from typing import Any

from tests.functions.store.behaviour.putting import latest, pending, put, values, write
from tests.functions.store.behaviour.samples import line, saying
from tests.functions.store.behaviour.stores import Store
from tests.support.checkpoints import checkpoint, config

ODD = ("a#b", "a:::b", "a b", " a", "a/b", "a|b", "🙂", "日本", 'quo"te', "%25", "a" * 900)


def threads_with_odd_ids(store: Store) -> None:
    """Separators, spaces, emoji, 900 characters: each is a thread of its own, with its writes, and says its id again."""
    saver = store.saver()
    for odd in ODD:
        write(saver, put(saver, config(odd), {"n": odd}), [("ch", odd)])
    for odd in ODD:
        found = latest(store.saver(), odd)
        assert found.config["configurable"]["thread_id"] == odd
        assert (found.checkpoint["channel_values"], found.pending_writes) == ({"n": odd}, [("task", "ch", odd)])


def namespaces_with_odd_names(store: Store) -> None:
    """The same for namespaces, whose names hold those of nodes."""
    saver = store.saver()
    for odd in ODD:
        write(saver, put(saver, config("t", odd), {"n": odd}), [("ch", odd)])
    for odd in ODD:
        found = latest(store.saver(), config("t", odd))
        assert (found.checkpoint["channel_values"], found.pending_writes) == ({"n": odd}, [("task", "ch", odd)])


def tasks_and_channels_with_odd_names(store: Store) -> None:
    """The same for tasks and channels."""
    at = put(store.saver(), config("t"))
    for odd in ODD:
        write(store.saver(), at, [(odd, odd)], odd)
    assert sorted(pending(store.saver(), at)) == sorted((odd, odd, odd) for odd in ODD)


def separators_do_not_mix_threads(store: Store) -> None:
    """(a#b, c) and (a, b#c) with one checkpoint id are two checkpoints with writes of their own; so for other separators."""
    pairs = [pair for by in "#:!|/_" for pair in ((f"a{by}b", "c"), ("a", f"b{by}c"))]
    for thread_id, namespace in pairs:
        store.saver().put(config(thread_id, namespace), checkpoint({}, "1"), {}, {})
        write(store.saver(), config(thread_id, namespace, "1"), [("ch", thread_id)])
    assert [pending(store.saver(), config(*pair)) for pair in pairs] == [[("task", "ch", thread_id)] for thread_id, _ in pairs]


def an_id_that_another_begins_with(store: Store) -> None:
    """Thread `a` does not see `ab`, namespace `child` not `child:1`; deleting one leaves the other."""
    saver = store.saver()
    for thread_id in ("ab", "a", "a b"):
        for namespace in ("", "child:1", "child", "child:1|x"):
            put(saver, config(thread_id, namespace), {"n": f"{thread_id}/{namespace}"})
    for thread_id in ("ab", "a", "a b"):
        for namespace in ("", "child:1", "child", "child:1|x"):
            assert values(saver, config(thread_id, namespace)) == {"n": f"{thread_id}/{namespace}"}
            assert len(list(saver.list(config(thread_id, namespace)))) == 1
    saver.delete_thread("a")
    assert [saver.get_tuple(config(thread_id)) is None for thread_id in ("ab", "a", "a b")] == [False, True, False]


def a_number_as_thread_id(store: Store) -> None:
    """A graph that is called with an integer goes on with its thread."""
    at: Any = config(7, None)
    for turn in ("1", "2"):
        line(store.saver(), *saying("a")).invoke({"log": [turn]}, at)
    assert line(store.saver(), *saying("a")).get_state(at).values["log"] == ["1", "a", "2", "a"]
