"""The store's process, and what its folder is worth after a crash."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from functions.store.shelf import S3Shelf
from graphs.knowledge.collection import Collection
from infra.local.output import Console
from infra.local.store import BUCKET, REGION, Store, StoreFailed
from infra.local.variables import bare, user_variables
from tests.support.shelves import found, imported

TABLE = "t-checkpoints"


@asynccontextmanager
async def opened(folder: Path | None) -> AsyncIterator[Store]:
    store = await Store.start(folder, table_prefix="t-", env=bare(user_variables()), output=Console().voice("store"))
    try:
        yield store
    finally:
        await store.stop()


def client(store: Store, service: str) -> Any:
    make: Any = boto3.client
    return make(service, endpoint_url=f"http://{store.address}", region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b")


def put(store: Store, numbers: range) -> None:
    for number in numbers:
        client(store, "dynamodb").put_item(TableName=TABLE, Item={"pk": {"S": "p"}, "sk": {"S": f"{number:03}"}, "d": {"B": b"\xff\x00"}})


def keys(store: Store) -> list[str]:
    found = client(store, "dynamodb").query(
        TableName=TABLE, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "p"}}, ConsistentRead=True
    )
    assert all(item["d"] == {"B": b"\xff\x00"} for item in found["Items"])
    return [item["sk"]["S"] for item in found["Items"]]


async def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    """Items and objects are there after SIGKILL, torn last line or not; a second store in the folder is refused while the first runs."""
    async with opened(tmp_path) as store:
        await asyncio.to_thread(put, store, range(5))
        await asyncio.to_thread(client(store, "s3").put_object, Bucket=BUCKET, Key="a b/ü", Body=b"\x00payload")
        with pytest.raises(StoreFailed, match=f"in use by process {store.process.pid}"):
            await Store.start(tmp_path, table_prefix="t-", env=bare(user_variables()), output=Console().voice("store"))
        os.kill(store.process.pid, signal.SIGKILL)
        await store.process.exited.wait()
    with (tmp_path / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"m":"POST","t":"/","h":{"x-amz')
    async with opened(tmp_path) as store:
        assert store.records > 6
        assert await asyncio.to_thread(keys, store) == [f"{number:03}" for number in range(5)]
        found = await asyncio.to_thread(client(store, "s3").get_object, Bucket=BUCKET, Key="a b/ü")
        assert found["Body"].read() == b"\x00payload"


@pytest.mark.long
async def test_imported_documents_survive_a_kill(tmp_path: Path) -> None:
    """Records that were compared and swapped, segments, deletions: played back from the journal, then from what it was compacted to, over
    which they can be changed further."""
    async with opened(tmp_path) as store:
        await imported(collection(store), "年假", a="red fish", b="blue fish")
        await imported(collection(store), "年假", a="green fish")
        collection(store).delete("年假", "年假/b")
        os.kill(store.process.pid, signal.SIGKILL)
        await store.process.exited.wait()
    async with opened(tmp_path) as store:
        assert await found(collection(store), "fish", "年假") == ["green fish"]
        await imported(collection(store), "年假", c="grey fish")
    async with opened(tmp_path) as store:
        assert sorted(await found(collection(store), "fish")) == ["green fish", "grey fish"]


def collection(store: Store) -> Collection:
    return Collection(S3Shelf(client(store, "s3"), BUCKET))


async def test_a_damaged_journal_says_where(tmp_path: Path) -> None:
    """A journal that cannot be read is not thrown away: the start fails and names the line."""
    (tmp_path / "journal.jsonl").write_bytes(b"nonsense\nmore\n")
    with pytest.raises(StoreFailed, match=r"journal\.jsonl, line 1"):
        async with opened(tmp_path):
            pass
    assert (tmp_path / "journal.jsonl").read_bytes() == b"nonsense\nmore\n"


async def test_any_region_and_key_find_the_same_tables() -> None:
    """A worker signs with the user's own identity where its model is on Bedrock."""
    async with opened(None) as store:
        for region, key in (("eu-west-1", "ASIAEXAMPLE"), (REGION, "local")):
            theirs = boto3.client(
                "dynamodb", endpoint_url=f"http://{store.address}", region_name=region, aws_access_key_id=key, aws_secret_access_key="s"
            )
            assert TABLE in (await asyncio.to_thread(theirs.list_tables))["TableNames"]


async def test_what_fails_at_the_start_is_said() -> None:
    """Also what nobody foresaw (here a variable that botocore refuses): the start fails with its words, and nothing waits for ever."""
    env = bare(user_variables()) | {"AWS_RETRY_MODE": "nonsense"}
    with pytest.raises(StoreFailed, match="nonsense"):
        await asyncio.wait_for(Store.start(None, table_prefix="t-", env=env, output=lambda *_: None), 60)
