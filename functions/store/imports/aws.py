"""The table of `langgraph-checkpoint-aws` 1.2.6 (`langgraph_checkpoint_aws.checkpoint.dynamodb.unified_repository`).

    PK  CHECKPOINT_<thread>                         SK  <namespace>#<checkpoint>    a checkpoint's row
        WRITES_<thread>#<namespace>#<checkpoint>        <task>#<index>              the row of a write; special channels count from -1 down
        CHUNK_…                                         CHUNK                       a payload

A row names its payload (`ref_loc`, `ref_key`): an item of the table or an object in S3, under the saver's `key_prefix`. It is written
before its payload is, so a crash leaves rows that point to nothing. `ttl` is the expiry in epoch seconds; the saver serves expired rows.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.store.errors import StoreError, explained
from functions.store.expiry import now
from functions.store.imports.foreign import ForeignTable, Header, Item, Payload, Sealed, SourceError, Write, latest_last

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

PACKAGE = "langgraph-checkpoint-aws"
_CHECKPOINT = "CHECKPOINT_"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where the saver put payloads over 350 KB; `prefix` is its `key_prefix`."""

    client: S3Client
    name: str
    prefix: str = ""

    def get(self, key: str) -> bytes | None:
        body = self._body(key)
        return None if body is None else body.read()

    def has(self, key: str) -> bool:
        if (body := self._body(key)) is None:
            return False
        body.close()
        return True

    def _body(self, key: str) -> StreamingBody | None:
        try:
            with explained(self.name, self.client.meta.endpoint_url):
                return self._get(key)
        except self.client.exceptions.NoSuchKey:
            return None

    def _get(self, key: str) -> StreamingBody:
        try:
            return self.client.get_object(Bucket=self.name, Key=self.full(key))["Body"]
        except self.client.exceptions.NoSuchBucket as error:
            endpoint = self.client.meta.endpoint_url
            raise StoreError(f"There is no bucket {self.name!r} to import from at {endpoint}: correct its name.") from error

    def full(self, key: str) -> str:
        """https://github.com/langchain-ai/langchain-aws: `StorageStrategy._prefixed_s3_key`."""
        return f"{self.prefix.strip('/')}/{key}" if self.prefix.strip("/") else key


class AwsTable:
    """One table of that saver; `bucket` if it had one."""

    def __init__(self, table_name: str, *, client: DynamoDBClient, bucket: Bucket | None = None) -> None:
        self._table = ForeignTable(table_name, client)
        self._bucket = bucket

    def check(self) -> None:
        self._table.check(("PK", "SK"), PACKAGE)

    def threads(self) -> list[str]:
        found: dict[str, str] = {}
        rows = self._table.scan(
            FilterExpression="begins_with(PK, :kind)",
            ExpressionAttributeValues={":kind": {"S": _CHECKPOINT}},
            ProjectionExpression="PK, id, #ttl",
            ExpressionAttributeNames={"#ttl": "ttl"},
        )
        for row in rows:
            if _alive(row):
                thread_id = row["PK"]["S"].removeprefix(_CHECKPOINT)
                found[thread_id] = max(found.get(thread_id, ""), row["id"]["S"])
        return latest_last(found)

    def headers(self, thread_id: str) -> list[Header]:
        rows = [row for row in self._table.query("PK", f"{_CHECKPOINT}{thread_id}") if _alive(row)]
        found = [Header(thread_id, row["ns"]["S"], row["id"]["S"], row.get("parent_checkpoint_id", {}).get("S"), row) for row in rows]
        self._check_objects([header.row for header in found])
        return sorted(found, key=lambda header: header.checkpoint_id)

    def _check_objects(self, rows: Sequence[Item]) -> None:
        """A row without its object is what a crash leaves. Where all are missing, they are looked for in the wrong place."""
        keys = [row["ref_key"]["S"] for row in rows if row["ref_loc"]["S"] == "S3"]
        if keys:
            bucket = self._needed_bucket(keys[-1])
            if not any(bucket.has(key) for key in reversed(keys)):
                place = f"s3://{bucket.name}/{bucket.full(keys[-1])}"
                raise SourceError(f"None of its {len(keys)} payloads in S3 is there: {place}. Correct the bucket or its key prefix.")

    def payload(self, header: Header) -> Payload | None:
        sealed = self._sealed(header.row)
        return None if sealed is None else Payload(sealed, None)

    def writes(self, header: Header) -> list[Write]:
        rows = self._table.query("PK", f"WRITES_{header.thread_id}#{header.namespace}#{header.checkpoint_id}")
        return [
            Write(row["task_id"]["S"], row.get("task_path", {}).get("S", ""), int(row["idx"]["N"]), row["channel"]["S"], self._sealed(row))
            for row in rows
            if _alive(row)
        ]

    def _sealed(self, row: Item) -> Sealed | None:
        key = row["ref_key"]["S"]
        data = self._needed_bucket(key).get(key) if row["ref_loc"]["S"] == "S3" else self._chunk(key)
        if data is None:
            return None
        return Sealed(row["type"]["S"], gzip.decompress(data) if row.get("compression", {}).get("S") == "gzip" else data)

    def _chunk(self, key: str) -> bytes | None:
        item = self._table.get(PK=key, SK="CHUNK")
        return None if item is None else item["payload"]["B"]

    def _needed_bucket(self, key: str) -> Bucket:
        if self._bucket is None:
            raise SourceError(f"It has payloads in S3, such as {key}. Name the bucket that its saver used.")
        return self._bucket


def _alive(row: Item) -> bool:
    return "ttl" not in row or float(row["ttl"]["N"]) > now()
