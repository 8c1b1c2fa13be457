"""What a store holds, as the fewest records that would make it again.

Tables and buckets keep the calls that made them, in order; items become batches of puts, objects one PUT each.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote

from infra.local.journal import Record
from infra.local.journaled import JournaledApp, authorization

BATCH = 25
"""Items of one BatchWriteItem, DynamoDB's own limit."""
_ITEM_CALL = re.compile(
    r"\.(PutItem|UpdateItem|DeleteItem|BatchWriteItem|TransactWriteItems|ExecuteStatement|BatchExecuteStatement|ExecuteTransaction)$"
)
_OBJECT_PATH = re.compile(r"/[^/?]+/[^?]|/[^/?]+/?\?delete")


def compact(definitions: Iterable[Record], app: JournaledApp) -> Iterator[Record]:
    """The records that make what the emulator of this process holds; `definitions` made its tables and buckets."""
    yield from definitions
    yield from _items()
    yield from _objects(app)


def is_data(record: Record) -> bool:
    """Whether the record wrote items or objects, and did not make, change or drop what holds them."""
    if target := record.headers.get("x-amz-target"):
        return bool(_ITEM_CALL.search(target))
    return bool(_OBJECT_PATH.match(record.target))


def _backends(service: Any) -> Iterator[tuple[str, Any]]:
    """(region, backend) of every account the emulator knows. Read directly: a Scan costs 1 ms an item, this 0.03."""
    from moto.backends import get_backend

    for account in get_backend(service).values():
        yield from account.items()


def _items() -> Iterator[Record]:
    from moto.dynamodb.models.utilities import dynamo_to_dict

    for region, backend in _backends("dynamodb"):
        headers = {
            "authorization": authorization(region=region, service="dynamodb"),
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": "DynamoDB_20120810.BatchWriteItem",
        }
        for name, table in backend.tables.items():
            items = (dynamo_to_dict(item.attrs) for item in table.all_items())
            while batch := list(islice(items, BATCH)):
                puts = [{"PutRequest": {"Item": item}} for item in batch]
                body = json.dumps({"RequestItems": {name: puts}}, ensure_ascii=False, default=_base64)
                yield Record("POST", "/", headers, body.encode())


def _base64(value: object) -> str:
    """Binary attributes as the wire has them. Raises `TypeError` for what is not bytes."""
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} in an item")
    return base64.b64encode(value).decode()


def _objects(app: JournaledApp) -> Iterator[Record]:
    for region, backend in _backends("s3"):
        headers = {"authorization": authorization(region="us-east-1" if region == "aws" else region, service="s3")}
        for bucket in backend.buckets.values():
            for key in bucket.keys:
                yield from app.object_record(f"/{bucket.name}/{quote(key)}", headers)
