"""History: of a namespace, a thread, all threads; filtered, limited, paged."""

from __future__ import annotations

from typing import Any

from tests.functions.store.behaviour.putting import chain, latest, put, steps, write
from tests.functions.store.behaviour.stores import Store
from tests.support.checkpoints import config, noise


def _configs(found: Any) -> set[tuple[str, ...]]:
    return {tuple(str(one.config["configurable"][name]) for name in ("thread_id", "checkpoint_ns")) for one in found}


def the_newest_is_the_latest(store: Store) -> None:
    """By the order of the ids; a checkpoint of the past is found by its id."""
    made = chain(store.saver(), config("t"), 4)
    assert latest(store.saver(), "t").config["configurable"] == made[-1]["configurable"]
    assert [latest(store.saver(), at).metadata["step"] for at in made] == [0, 1, 2, 3]


def what_does_not_exist_is_none(store: Store) -> None:
    """An unknown thread, namespace or checkpoint: None and an empty list, no error."""
    put(store.saver(), config("t"))
    for at in (config("no"), config("t", "no"), config("t", "", "1")):
        assert store.saver().get_tuple(at) is None
    for at in (config("no"), config("t", "no")):
        assert list(store.saver().list(at)) == []


def the_history_of_one_checkpoint(store: Store) -> None:
    """A config with an id lists that checkpoint, or nothing."""
    made = chain(store.saver(), config("t"), 3)
    assert steps(store.saver().list(made[1])) == [1]
    assert list(store.saver().list(config("t", "", "1"))) == []


def history_newest_first(store: Store) -> None:
    """The latest comes first, with parents and pending writes."""
    made = chain(store.saver(), config("t"), 4)
    write(store.saver(), made[1], [("ch", 1)])
    found = list(store.saver().list(config("t")))
    assert steps(iter(found)) == [3, 2, 1, 0]
    assert [one.parent_config for one in found] == [*made[2::-1], None]
    assert [one.pending_writes or [] for one in found] == [[], [], [("task", "ch", 1)], []]


def limit_and_before(store: Store) -> None:
    """`limit` counts what matches; `before` leaves out the checkpoint itself."""
    made = chain(store.saver(), config("t"), 5)
    assert steps(store.saver().list(config("t"), limit=2)) == [4, 3]
    assert steps(store.saver().list(config("t"), before=made[2])) == [1, 0]
    assert steps(store.saver().list(config("t"), before=made[4], limit=1)) == [3]


def a_limit_of_nothing(store: Store) -> None:
    """Is no error."""
    chain(store.saver(), config("t"), 2)
    assert steps(store.saver().list(config("t"), limit=0)) == []


def filter_by_metadata(store: Store) -> None:
    """Every key must be equal; the limit counts matches, not what was looked at."""
    saver = store.saver()
    for step, source in enumerate(["input", "loop", "loop", "update", "loop"]):
        put(saver, config("t"), step=step, source=source)
    listed = store.saver().list
    assert steps(listed(config("t"), filter={"source": "loop"})) == [4, 2, 1]
    assert steps(listed(config("t"), filter={"source": "loop", "step": 2})) == [2]
    assert steps(listed(config("t"), filter={"source": "input"}, limit=1)) == [0]
    assert steps(listed(config("t"), filter={"source": "loop", "absent": 1})) == []


def filter_by_metadata_of_the_run(store: Store) -> None:
    """What the caller gave as `metadata` is kept with the checkpoints."""
    for tenant in "ab":
        put(store.saver(), config("t") | {"metadata": {"tenant": tenant, "paid": tenant == "b"}}, step=ord(tenant))
    assert steps(store.saver().list(config("t"), filter={"tenant": "a"})) == [ord("a")]
    assert steps(store.saver().list(config("t"), filter={"paid": True})) == [ord("b")]


def filter_by_configurable(store: Store) -> None:
    """So are the scalars of `configurable`, which is how LangGraph finds a user's or an assistant's runs."""
    for user in "ab":
        put(store.saver(), config("t", "", user_id=user, level=ord(user)), step=ord(user))
    assert steps(store.saver().list(config("t"), filter={"user_id": "a"})) == [ord("a")]
    assert steps(store.saver().list(config("t"), filter={"level": ord("b")})) == [ord("b")]


def all_namespaces_of_a_thread(store: Store) -> None:
    """Without a namespace: all of them; with the empty one: the root alone."""
    for namespace in ("", "child:1", "child:1|grandchild:2"):
        put(store.saver(), config("t", namespace))
    put(store.saver(), config("u"))
    assert _configs(store.saver().list(config("t", None))) == {("t", ""), ("t", "child:1"), ("t", "child:1|grandchild:2")}
    assert _configs(store.saver().list(config("t", ""))) == {("t", "")}


def all_threads(store: Store) -> None:
    """`list(None)` gives every thread, filtered and limited like the rest."""
    for thread_id in ("t", "u", "v"):
        put(store.saver(), config(thread_id), owner=thread_id)
    assert _configs(store.saver().list(None)) == {("t", ""), ("u", ""), ("v", "")}
    assert _configs(store.saver().list(None, filter={"owner": "u"})) == {("u", "")}
    assert len(list(store.saver().list(None, limit=2))) == 2


def history_over_a_megabyte(store: Store) -> None:
    """A page of a query ends after 1 MB; the history does not."""
    saver = store.saver()
    for step in range(6):
        put(saver, config("t"), {"blob": noise(250_000 + step)}, step=step)
    assert steps(store.saver().list(config("t"))) == [5, 4, 3, 2, 1, 0]
    assert steps(store.saver().list(config("t"), filter={"step": 0})) == [0]
    assert steps(store.saver().list(config("t"), limit=5)) == [5, 4, 3, 2, 1]
