"""The tables as data. CDK, the local stack and the tests create the same ones from here."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

ACTIVE_WITHIN = 60.0
NO_SUCH_OPERATION = ("UnknownOperationException", "UnknownOperation")


@dataclass(frozen=True, slots=True)
class LocalIndex:
    """A second order of one partition's items: same partition key, another sort key (a string), all attributes, consistent reads."""

    name: str
    sort_key: str


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One on-demand table. Both key attributes are strings; `ttl` names the attribute that holds the expiry in epoch seconds. `backed_up`:
    its items are worth more than a day, so AWS keeps backups of them."""

    name: str
    partition_key: str = "pk"
    sort_key: str = "sk"
    ttl: str = "expires_at"
    local_indexes: tuple[LocalIndex, ...] = ()
    backed_up: bool = True


KNOWLEDGE_FOLDER = "knowledge"
"""Of knowledge bases in the bucket, behind the prefix of the tables."""
BY_RANK = LocalIndex("by_rank", "rank")
CHECKPOINTS, THREADS, EVENTS = "checkpoints", "threads", "events"

TABLES: Mapping[str, TableSchema] = MappingProxyType(
    {
        schema.name: schema
        for schema in (TableSchema(CHECKPOINTS), TableSchema(THREADS, local_indexes=(BY_RANK,)), TableSchema(EVENTS, backed_up=False))
    }
)


def create_tables(client: DynamoDBClient, prefix: str = "") -> dict[str, str]:
    """Creates what is missing and waits until it is usable. Safe to call again, and from several processes at once.

    Returns the full table names by key: `{"checkpoints": …, "threads": …, "events": …}`.
    Raises `TimeoutError` if a table is not active after a minute, `botocore.exceptions.ClientError` if AWS refuses.
    """
    names = {key: f"{prefix}{key}" for key in TABLES}
    for key, name in names.items():
        _create(client, TABLES[key], name)
    for key, name in names.items():
        _wait_until_active(client, name)
        _set_ttl(client, TABLES[key], name)
    return names


def _create(client: DynamoDBClient, schema: TableSchema, name: str) -> None:
    try:
        client.create_table(TableName=name, **_definition(schema))
    except client.exceptions.ResourceInUseException:
        logger.debug("table %s exists", name)


def _definition(schema: TableSchema) -> dict[str, Any]:
    attributes = [schema.partition_key, schema.sort_key, *(index.sort_key for index in schema.local_indexes)]
    definition: dict[str, Any] = {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        "KeySchema": _key_schema(schema.partition_key, schema.sort_key),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if schema.local_indexes:
        definition["LocalSecondaryIndexes"] = [_index(schema, index) for index in schema.local_indexes]
    return definition


def _index(schema: TableSchema, index: LocalIndex) -> dict[str, Any]:
    keys = _key_schema(schema.partition_key, index.sort_key)
    return {"IndexName": index.name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}


def _key_schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition_key, "KeyType": "HASH"}, {"AttributeName": sort_key, "KeyType": "RANGE"}]


def _wait_until_active(client: DynamoDBClient, name: str) -> None:
    deadline = time.monotonic() + ACTIVE_WITHIN
    while client.describe_table(TableName=name)["Table"]["TableStatus"] not in ("ACTIVE", "UPDATING"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"Table {name!r} is not active after {ACTIVE_WITHIN:.0f} s: see its status in DynamoDB and try again.")
        time.sleep(0.2)


def _set_ttl(client: DynamoDBClient, schema: TableSchema, name: str) -> None:
    try:
        status = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"].get("TimeToLiveStatus")
        if status not in ("ENABLED", "ENABLING"):
            client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": schema.ttl})
    except ClientError as error:
        # A server without TTL (dynalite) is fine: the saver never serves an expired item, whether it is removed or not.
        if error.response.get("Error", {}).get("Code") not in NO_SUCH_OPERATION:
            raise
        logger.info("table %s: this server has no TTL", name)
