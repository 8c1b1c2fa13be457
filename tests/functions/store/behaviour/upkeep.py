"""Whole threads and runs: deleting, copying, pruning."""

from __future__ import annotations

from typing import Any

from tests.functions.store.behaviour.putting import chain, latest, put, put_large, steps, write
from tests.functions.store.behaviour.stores import Saver, Store
from tests.support import graphs
from tests.support.checkpoints import config, noise

MANY = 1_000


def _thread(saver: Saver, thread_id: str) -> None:
    """Two namespaces with two checkpoints and writes each, of runs of their own."""
    for namespace in ("", "child:1"):
        first = put(saver, config(thread_id, namespace), {"n": 1}, step=0, run_id=f"{thread_id}-1")
        write(saver, first, [("ch", 1), ("ch", 2)])
        write(saver, put(saver, first, {"n": 2}, step=1, run_id=f"{thread_id}-2"), [("ch", 3)])


def _all(saver: Saver, thread_id: str) -> list[Any]:
    return [(one.checkpoint, one.pending_writes) for one in saver.list(config(thread_id, None))]


def deleting_a_thread_leaves_nothing(store: Store) -> None:
    """No checkpoint, write or value in any namespace; a neighbour keeps all of its own. Deleting again is no error."""
    _thread(store.saver(), "kept")
    before = sorted(store.content())
    _thread(store.saver(), "t")
    for _ in range(2):
        store.saver().delete_thread("t")
    assert sorted(store.content()) == before
    assert _all(store.saver(), "t") == []
    assert len(_all(store.saver(), "kept")) == 4


def deleting_takes_writes_without_a_checkpoint(store: Store) -> None:
    """A run that died before its checkpoint was stored leaves writes; they go with the thread."""
    put(store.saver(), config("t"))
    write(store.saver(), config("t", "", "never-stored"), [("ch", 1)])
    store.saver().delete_thread("t")
    assert store.content() == []


def deleting_takes_large_values(store: Store) -> None:
    """Whatever lies outside of the items: chunks and objects, of checkpoints and of writes."""
    at = put_large(store.saver(), "t")
    write(store.saver(), at, [("ch", noise(500_000))])
    store.saver().delete_thread("t")
    assert store.content() == []


def deleting_a_thousand_checkpoints(store: Store) -> None:
    """As a thread of some months has."""
    chain(store.saver(), config("t"), MANY)
    store.saver().delete_thread("t")
    assert store.content() == []


def deleting_runs(store: Store) -> None:
    """The checkpoints of those runs with their writes, in every thread; the others stay."""
    for thread_id in ("t", "u"):
        _thread(store.saver(), thread_id)
    store.saver().delete_for_runs(["t-2", "u-1", "unknown"])
    found = {(one.metadata["run_id"], str(one.pending_writes)) for thread_id in "tu" for one in store.saver().list(config(thread_id, None))}
    assert {run_id for run_id, _ in found} == {"t-1", "u-2"}
    assert {writes for _, writes in found} == {"[('task', 'ch', 1), ('task', 'ch', 2)]", "[('task', 'ch', 3)]"}


def copying_a_thread(store: Store) -> None:
    """All namespaces with their writes; the copy stands when its source is deleted."""
    _thread(store.saver(), "t")
    expected = _all(store.saver(), "t")
    store.saver().copy_thread("t", "copy")
    assert _all(store.saver(), "copy") == expected
    store.saver().delete_thread("t")
    assert _all(store.saver(), "copy") == expected
    assert {one.config["configurable"]["thread_id"] for one in store.saver().list(config("copy", None))} == {"copy"}


def a_copy_of_large_values(store: Store) -> None:
    """They are copied too, not pointed to."""
    write(store.saver(), put_large(store.saver(), "t"), [("ch", noise(500_000, 1))])
    expected = _all(store.saver(), "t")
    store.saver().copy_thread("t", "copy")
    store.saver().delete_thread("t")
    assert _all(store.saver(), "copy") == expected


def pruning_keeps_the_latest(store: Store) -> None:
    """Of every namespace, with its writes; of the threads that were named."""
    for thread_id in ("t", "u"):
        _thread(store.saver(), thread_id)
    store.saver().prune(["t"])
    assert steps(store.saver().list(config("t", None))) == [1, 1]
    assert latest(store.saver(), "t").pending_writes == [("task", "ch", 3)]
    assert len(_all(store.saver(), "u")) == 4


def pruning_can_delete(store: Store) -> None:
    """The strategy `delete` leaves nothing of the threads that were named."""
    _thread(store.saver(), "t")
    store.saver().prune(["t"], strategy="delete")
    assert store.content() == []


def a_pruned_delta_thread_is_whole(store: Store) -> None:
    """What the latest state is rebuilt from stays."""
    for turn in range(3):
        graphs.delta_log(store.saver()).invoke({"log": [f"turn {turn}"]}, config("t", None))
    expected = graphs.delta_log(store.saver()).get_state(config("t", None)).values
    store.saver().prune(["t"])
    assert graphs.delta_log(store.saver()).get_state(config("t", None)).values == expected
