"""What lies in the store, as DynamoDB and S3 bill it."""

from __future__ import annotations

from typing import Any, NamedTuple

import boto3

from functions.store.table import item_bytes
from functions.store.tables import TABLES
from infra.local.store import BUCKET, KEYS, REGION
from tests.bench.cost.wire import PREFIX

ITEM_OVERHEAD = 100
"""Bytes that DynamoDB adds to an item, and to its copy in an index.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html"""


class Stored(NamedTuple):
    """Bytes of the items of all tables but the events', with their indexes; of the events; of the objects of threads."""

    table_bytes: int
    event_bytes: int
    object_bytes: int

    def less(self, before: Stored) -> Stored:
        return Stored(*(after - earlier for after, earlier in zip(self, before, strict=True)))


def stored_bytes(address: str) -> Stored:
    session = boto3.Session(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"], region_name=REGION)
    dynamodb: Any = session.client("dynamodb", endpoint_url=f"http://{address}")
    s3: Any = session.client("s3", endpoint_url=f"http://{address}")
    items = {
        schema.name: sum(
            (item_bytes(item) + ITEM_OVERHEAD) * (1 + len(schema.local_indexes))
            for page in dynamodb.get_paginator("scan").paginate(TableName=f"{PREFIX}{schema.name}")
            for item in page["Items"]
        )
        for schema in TABLES.values()
    }
    events = items.pop("events")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{PREFIX}checkpoints/")
    return Stored(sum(items.values()), events, sum(found["Size"] for page in pages for found in page.get("Contents", ())))
