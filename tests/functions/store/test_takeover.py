"""A thread that was taken over: what its old run writes afterwards, to whatever place, is never read."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from functions.store import keys
from functions.store.checkpoints import DynamoDBSaver
from functions.store.holding import Holding, clocks
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import checkpoint, config, noise, put
from tests.support.dynamodb import Dynamo

ROOT, TASK, MEMORY = "", "node:1", "memory"


def holder(saver: DynamoDBSaver, run_id: str, seconds: float = 30) -> DynamoDBSaver:
    """The saver of a run that has the lease of thread `t`. Its hold is never asked: only keys keep a late write apart here."""
    grant = saver.leases.take(saver.partition("t"), run_id, seconds)
    return saver.held(grant, Holding(30, lambda: True, since=clocks()))


def values(saver: DynamoDBSaver, namespace: str = "", checkpoint_id: str | None = None) -> Any:
    found = saver.get_tuple(config("t", namespace, checkpoint_id))
    return found and found.checkpoint["channel_values"]


def told(saver: DynamoDBSaver, namespace: str = "", checkpoint_id: str | None = None) -> list[Any]:
    """Pending writes as (task, channel, value)."""
    found = saver.get_tuple(config("t", namespace, checkpoint_id))
    return list(found.pending_writes or ()) if found else []


@pytest.fixture
def old(saver: DynamoDBSaver) -> DynamoDBSaver:
    """A run that has written one checkpoint with a task's write, and died."""
    old = holder(saver, "old", seconds=-1)
    at = put(old, config("t"), {"n": 1})
    old.put_writes(at, [("a", "in time")], "task")
    return old


def test_the_new_run_goes_on_from_what_was_there(saver: DynamoDBSaver, old: DynamoDBSaver) -> None:
    """The newest checkpoint with its writes, under the id that it has."""
    before = old.get_tuple(config("t"))
    new = holder(saver, "new")
    for reader in (new, saver):
        assert reader.get_tuple(config("t")) == before


def test_a_late_checkpoint_is_not_the_latest(saver: DynamoDBSaver, old: DynamoDBSaver) -> None:
    """Neither before the new run has written anything nor after it, for the new run, for a reader without a lease, and for a later run."""
    before = values(old)
    new = holder(saver, "new", seconds=-1)
    put(old, config("t"), {"n": "late"})
    assert (values(new), values(saver)) == (before, before)
    put(new, config("t"), {"n": 2})
    put(old, config("t"), {"n": "later still"})
    assert (values(new), values(saver), values(holder(saver, "third"))) == ({"n": 2}, {"n": 2}, {"n": 2})


def test_late_writes_are_not_pending(saver: DynamoDBSaver, old: DynamoDBSaver) -> None:
    """Regular slots, an interrupt and a resume: the task is as it was when the thread was taken over, and the new run's writes count."""
    at = old.get_tuple(config("t"))
    assert at is not None
    new = holder(saver, "new")
    old.put_writes(at.config, [("a", "late"), (INTERRUPT, "late"), (RESUME, ["late"])], "task")
    old.put_writes(at.config, [("a", "late")], "another")
    assert told(new) == told(saver) == [("task", "a", "in time")]
    new.put_writes(at.config, [("a", "new")], "another")
    assert told(new) == told(saver) == [("another", "a", "new"), ("task", "a", "in time")]


def test_history_leaves_out_what_came_late(saver: DynamoDBSaver, old: DynamoDBSaver) -> None:
    """Listed once each, the newest first, with and without a namespace, before one of them, and up to a limit."""
    new = holder(saver, "new")
    put(old, config("t"), {"n": "late"})
    latest = put(new, config("t"), {"n": 2})
    put(old, config("t"), {"n": "later still"})
    for namespace in ("", None):
        assert [found.checkpoint["channel_values"]["n"] for found in saver.list(config("t", namespace))] == [2, 1]
        assert [found.checkpoint["channel_values"]["n"] for found in saver.list(config("t", namespace), before=latest)] == [1]
        assert [found.checkpoint["channel_values"]["n"] for found in saver.list(config("t", namespace), limit=1)] == [2]
    assert [found.checkpoint["channel_values"]["n"] for found in saver.list(None)] == [2, 1]


def test_every_namespace_that_can_go_on_is_fenced(saver: DynamoDBSaver) -> None:
    """An unfinished task's, and one that keeps a memory over turns; the root as well, for which the others must not be forgotten."""
    old = holder(saver, "old", seconds=-1)
    for namespace in (MEMORY, ROOT, TASK):
        put(old, config("t", namespace), {"n": "in time"})
    new = holder(saver, "new")
    for namespace in (MEMORY, ROOT, TASK):
        put(old, config("t", namespace), {"n": "late"})
    assert [values(new, namespace) for namespace in (MEMORY, ROOT, TASK)] == [{"n": "in time"}] * 3


def test_an_old_checkpoint_by_its_id(saver: DynamoDBSaver, old: DynamoDBSaver) -> None:
    """Time travel over an epoch finds it, and what the new run adds to it."""
    first = old.get_tuple(config("t"))
    assert first is not None
    put(old, config("t"), {"n": 2})
    new = holder(saver, "new")
    new.put_writes(first.config, [("b", "replayed")], "replay")
    own_id = first.checkpoint["id"]
    for reader in (new, saver, DynamoDBSaver(saver._table.name, client=saver._table.client)):
        assert values(reader, "", own_id) == {"n": 1}
        assert told(reader, "", own_id) == [("replay", "b", "replayed"), ("task", "a", "in time")]
    (_, listed) = saver.list(config("t"))
    assert listed.pending_writes == told(saver, "", own_id)


def test_a_writer_without_a_lease_joins_the_epoch(saver: DynamoDBSaver, old: DynamoDBSaver, make_saver: MakeSaver) -> None:
    """`update_state` from a script: what it writes is the latest, also of a saver that has read nothing before."""
    holder(saver, "new")
    put(make_saver(), config("t"), {"n": "by hand"})
    assert values(saver) == {"n": "by hand"}


@pytest.mark.parametrize("stored", ["in chunks", "in S3"])
def test_large_payloads_come_along(make_saver: MakeSaver, bucket: str, stored: str) -> None:
    """Of checkpoint and writes; deleting the old ones leaves the new ones whole."""
    saver = make_saver(bucket=bucket) if stored == "in S3" else make_saver()
    old = holder(saver, "old", seconds=-1)
    at = put(old, config("t"), {"blob": noise(500_000)})
    old.put_writes(at, [("blob", noise(400_000))], "task")
    new = holder(saver, "new")
    put(old, config("t"), {"blob": "late"})
    new.prune(["t"])
    assert values(saver) == {"blob": noise(500_000)}
    assert told(saver) == [("task", "blob", noise(400_000))]


def test_nothing_is_left_of_a_pruned_or_deleted_thread(saver: DynamoDBSaver, old: DynamoDBSaver, dynamo: Dynamo) -> None:
    """Neither the copies of a takeover nor what came late; the lease goes with the thread."""
    new = holder(saver, "new")
    put(old, config("t"), {"n": "late"})
    put(new, config("t"), {"n": 2})
    saver.prune(["t"])
    assert [item["sk"]["S"][0] for item in dynamo.items()] == ["c", "l"]
    saver.delete_thread("t")
    assert dynamo.items() == []
    assert put(saver, config("t"), {"n": 1})["configurable"]["checkpoint_id"] in dynamo.items()[0]["sk"]["S"]


def test_a_copy_begins_anew(saver: DynamoDBSaver, old: DynamoDBSaver, dynamo: Dynamo) -> None:
    """It has the history that counts, in the first epoch, so that a run of it is not below what it copied."""
    new = holder(saver, "new")
    put(old, config("t"), {"n": "late"})
    put(new, config("t"), {"n": 2})
    saver.copy_thread("t", "copy")
    copied = [item["sk"]["S"] for item in dynamo.items() if item["pk"]["S"] == saver.partition("copy")]
    assert {keys.place(sort_key).epoch for sort_key in copied} == {0}
    assert [found.checkpoint["channel_values"]["n"] for found in saver.list(config("copy"))] == [2, 1]
    assert [found.pending_writes for found in saver.list(config("copy"))] == [[], [("task", "a", "in time")]]


def test_delta_history_over_epochs(saver: DynamoDBSaver) -> None:
    """A channel is rebuilt from the writes of both runs, and of none that came late."""
    old = holder(saver, "old", seconds=-1)
    at = config("t")
    for number in (1, 2):
        at = old.put(at, checkpoint({"log": [0]} if number == 1 else {}), {}, {})
        old.put_writes(at, [("log", [number])], "task")
    new = holder(saver, "new")
    old.put_writes(old.put(at, checkpoint({}), {}, {}), [("log", ["late"])], "task")
    for number in (3, 4):
        at = new.put(at, checkpoint({}), {}, {})
        new.put_writes(at, [("log", [number])], "task")
    history = saver.get_delta_channel_history(config=at, channels=["log"])
    assert (history["log"]["seed"], [value for _, _, value in history["log"]["writes"]]) == ([0], [[1], [2], [3]])


def test_killed_in_the_middle_of_a_takeover(saver: DynamoDBSaver, old: DynamoDBSaver, dynamo: Dynamo) -> None:
    """The next one takes it over again, from the same state."""
    before = old.get_tuple(config("t"))
    client = dynamo.fresh_client()

    class Killed(Exception):
        pass

    def kill(**_: object) -> None:
        raise Killed

    client.meta.events.register("before-call.dynamodb.PutItem", kill)
    dying = DynamoDBSaver(dynamo.checkpoints, client=client)
    with pytest.raises(Killed):
        dying.leases.take(dying.partition("t"), "dies", -1)
    new = holder(saver, "new")
    put(old, config("t"), {"n": "late"})
    assert new.get_tuple(config("t")) == before
    assert saver.get_tuple(config("t")) == before


def test_a_reader_that_saw_the_old_epoch(saver: DynamoDBSaver, old: DynamoDBSaver, make_saver: MakeSaver) -> None:
    """Another process has taken the thread over since: by its id and before a checkpoint, it reads what the new run has made of it."""
    reader = make_saver()
    first = reader.get_tuple(config("t"))
    assert first is not None
    new = holder(saver, "new")
    new.put_writes(first.config, [("b", "new")], "another")
    latest = put(new, config("t"), {"n": 2})
    assert told(reader, "", first.checkpoint["id"]) == [("another", "b", "new"), ("task", "a", "in time")]
    reader = make_saver()
    reader.get_tuple(first.config)
    third = put(new, latest, {"n": 3})
    assert [found.checkpoint["channel_values"]["n"] for found in reader.list(config("t"), before=third, limit=5)] == [2, 1]
