"""Deleting, copying and pruning whole threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from functions.store import keys
from functions.store.checkpoints import DynamoDBSaver
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import config, noise, put
from tests.support.dynamodb import Dynamo, Recorder

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def _full_thread(saver: DynamoDBSaver, thread_id: str) -> None:
    """Two namespaces, a large checkpoint, a large write, and writes of a checkpoint that was never stored."""
    for namespace in ("", "child:1"):
        at = put(saver, config(thread_id, namespace), {"blob": noise(500_000)}, run_id="run-1")
        saver.put_writes(at, [("ch", noise(200_000)), ("ch", 1)], "task")
        put(saver, at, {"n": 1}, run_id="run-2")
    saver.put_writes(config(thread_id, "", "never-stored"), [("ch", noise(200_000))], "task")


def _objects(s3: S3Client, bucket: str) -> int:
    return s3.list_objects_v2(Bucket=bucket)["KeyCount"]


@pytest.mark.parametrize("with_bucket", [False, True])
def test_delete_thread_leaves_nothing(dynamo: Dynamo, make_saver: MakeSaver, s3: S3Client, bucket: str, with_bucket: bool) -> None:
    """No item and no object, also of writes whose checkpoint never came; the neighbour keeps all of its own."""
    saver = make_saver(bucket=bucket if with_bucket else None)
    _full_thread(saver, "kept")
    items, objects = len(dynamo.items()), _objects(s3, bucket)
    _full_thread(saver, "t")
    assert _objects(s3, bucket) == 2 * objects
    saver.delete_thread("t")
    assert (len(dynamo.items()), _objects(s3, bucket)) == (items, objects)
    saver.delete_thread("kept")
    assert (dynamo.items(), _objects(s3, bucket)) == ([], 0)


def test_checkpoints_are_deleted_before_what_they_point_to(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Killed in the middle, no checkpoint is left that cannot be read."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    saver = make_saver(client=client)
    _full_thread(saver, "t")
    calls.calls.clear()
    saver.delete_thread("t")
    batches = [next(iter(request["RequestItems"].values())) for name, request in calls.calls if name == "BatchWriteItem"]
    kinds = [[one["DeleteRequest"]["Key"]["sk"]["S"][0] for one in batch] for batch in batches]
    assert set(kinds[0]) == {"c"}
    assert "c" not in {kind for later in kinds[1:] for kind in later}


def test_many_items_are_deleted(dynamo: Dynamo, saver: DynamoDBSaver) -> None:
    """More than one batch of 25."""
    for number in range(60):
        saver.put_writes(config("t", "", "1"), [("ch", number)], f"task-{number}")
    saver.delete_thread("t")
    assert dynamo.items() == []


@pytest.mark.parametrize("with_bucket", [False, True])
def test_delete_for_runs_takes_all_that_is_theirs(
    dynamo: Dynamo, make_saver: MakeSaver, s3: S3Client, bucket: str, with_bucket: bool
) -> None:
    """Checkpoints of the run in every namespace and thread, with their writes, chunks and objects."""
    saver = make_saver(bucket=bucket if with_bucket else None)
    for thread_id in ("t", "u"):
        _full_thread(saver, thread_id)
    saver.delete_for_runs(["run-1"])
    left = [item["sk"]["S"] for item in dynamo.items()]
    assert len([key for key in left if key.startswith("c!")]) == 4
    assert {keys.place(key).checkpoint_id for key in left if not key.startswith("c!")} == {"never-stored"}
    assert _objects(s3, bucket) == (2 if with_bucket else 0)


@pytest.mark.parametrize("with_bucket", [False, True])
def test_a_copy_stands_on_its_own(make_saver: MakeSaver, bucket: str, with_bucket: bool) -> None:
    """The copy is complete and readable when the source is gone."""
    saver = make_saver(bucket=bucket if with_bucket else None)
    _full_thread(saver, "t")
    long = "copy" * 1_000
    expected = [one._replace(config={}, parent_config=None) for one in saver.list(config("t", None))]
    saver.copy_thread("t", long)
    saver.delete_thread("t")
    assert [one._replace(config={}, parent_config=None) for one in saver.list(config(long, None))] == expected
    assert {one.config["configurable"]["thread_id"] for one in saver.list(None)} == {long}


def test_prune_refuses_what_it_does_not_know(saver: DynamoDBSaver) -> None:
    """A misspelt strategy deletes nothing and names the known ones."""
    with pytest.raises(ValueError, match="keep_latest"):
        saver.prune(["t"], strategy="keep-latest")
