"""What does not fit into an item of 400 KB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import PayloadMissing, StoreError
from functions.store.payloads import Packed, pack, too_large
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import config, noise, put
from tests.support.dynamodb import Dynamo, Recorder

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.mark.parametrize(
    ("sizes", "limit", "moved"),
    [
        ({"a": 10, "b": 20}, 30, []),
        ({"a": 10, "b": 21}, 30, ["b"]),
        ({"a": 10, "b": 40, "c": 30}, 40, ["b"]),
        ({"a": 10, "b": 40, "c": 30}, 0, ["b", "c", "a"]),
    ],
)
def test_the_largest_values_move_out(sizes: dict[str, int], limit: int, moved: list[str]) -> None:
    """As few as possible, until the rest fits."""
    assert too_large({name: Packed("bytes", b"x" * size, False) for name, size in sizes.items()}, limit) == moved


def test_text_is_compressed_and_noise_is_not(saver: DynamoDBSaver) -> None:
    """Compression is kept only where it pays."""
    assert len(pack(saver.serde, "a word " * 1_000).data) < 200
    assert not pack(saver.serde, noise(2_000)).compressed


@pytest.mark.parametrize("size", [340_000, 409_600, 1_300_000])
@pytest.mark.parametrize("server", ["dynamo", "dynalite"])
def test_checkpoints_of_any_size_without_a_bucket(request: pytest.FixtureRequest, server: str, size: int) -> None:
    """Over the limit of an item a checkpoint is stored in chunks, on an emulator with exactly DynamoDB's limit too."""
    dynamo: Dynamo = request.getfixturevalue(server)
    saver = DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)
    _round_trip(saver, noise(size))


def _round_trip(saver: DynamoDBSaver, value: bytes) -> None:
    at = put(saver, config("t"), {"blob": value})
    saver.put_writes(at, [("ch", value), ("small", 1)], "task")
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"blob": value}
    assert found.pending_writes == [("task", "ch", value), ("task", "small", 1)]
    assert [listed.checkpoint["channel_values"]["blob"] for listed in saver.list(config("t", None))] == [value]


def test_with_a_bucket_they_go_to_s3(dynamo: Dynamo, make_saver: MakeSaver, s3: S3Client, bucket: str) -> None:
    """One object per large value, no chunk in the table; small ones stay in the item."""
    saver = make_saver(bucket=bucket)
    _round_trip(saver, noise(600_000))
    put(saver, config("small"), {"blob": b"x"})
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 2
    assert {item["sk"]["S"][0] for item in dynamo.items()} == {"c", "w"}


@pytest.mark.parametrize("large", [{"blob": noise(900_000)}])
def test_the_payload_is_written_before_the_checkpoint(dynamo: Dynamo, make_saver: MakeSaver, large: dict[str, Any]) -> None:
    """Killed in between, a checkpoint is absent and the one before is the latest."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    put(make_saver(client=client), config("t"), large)
    assert calls.operations == ["Query", "BatchWriteItem", "PutItem"]  # a thread that was not read before is asked for its epoch


def test_s3_failing_leaves_no_checkpoint(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """A checkpoint whose object could not be stored does not appear; the error says which bucket."""
    saver = make_saver(bucket="no-such-bucket")
    with pytest.raises(StoreError, match=r"'no-such-bucket' does not exist.*AGENTS_BUCKET"):
        put(saver, config("t"), {"blob": noise(600_000)})
    assert dynamo.items() == []


def test_a_lost_chunk_is_named(dynamo: Dynamo, saver: DynamoDBSaver) -> None:
    """A payload that is gone is an error that says which, not an older state."""
    put(saver, config("t"), {"blob": noise(600_000)})
    chunk = next(item for item in dynamo.items() if item["sk"]["S"].startswith("p!"))
    dynamo.client.delete_item(TableName=dynamo.checkpoints, Key={"pk": chunk["pk"], "sk": chunk["sk"]})
    with pytest.raises(PayloadMissing, match="1 of 2 chunks"):
        saver.get_tuple(config("t"))


def test_a_lost_object_is_named(make_saver: MakeSaver, s3: S3Client, bucket: str) -> None:
    """The same for S3, and for a saver without the bucket."""
    saver = make_saver(bucket=bucket)
    put(saver, config("t"), {"blob": noise(600_000)})
    with pytest.raises(PayloadMissing, match="no bucket is configured"):
        make_saver().get_tuple(config("t"))
    s3.delete_object(Bucket=bucket, Key=s3.list_objects_v2(Bucket=bucket)["Contents"][0]["Key"])
    with pytest.raises(PayloadMissing, match="s3://"):
        saver.get_tuple(config("t"))
