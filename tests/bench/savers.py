"""The checkpointers that are measured, each on tables of its own. The two others need the `bench` group."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
from langgraph.checkpoint.base import BaseCheckpointSaver

from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client
from functions.store.tables import create_tables
from tests.bench.dynamodb import REGION


@dataclass(frozen=True, slots=True)
class Opened:
    """A saver and the clients whose calls are its own."""

    saver: BaseCheckpointSaver[Any]
    clients: Sequence[Any]


Open = Callable[[str, bool], Opened]
"""(endpoint, whether there are tables to be created) → a saver."""

OURS = "this project"
AWS = "checkpoint-aws"
FIRST = "checkpoint-dynamodb"


def open_ours(endpoint: str, stores: bool) -> Opened:
    client = dynamodb_client(endpoint, REGION)
    prefix = f"b{uuid.uuid4().hex}-"
    table = create_tables(client, prefix)["checkpoints"] if stores else "checkpoints"
    return Opened(DynamoDBSaver(table, client=client), [client])


def open_aws(endpoint: str, stores: bool) -> Opened:
    """`langgraph-checkpoint-aws`, as its README makes it."""
    from langgraph_checkpoint_aws import DynamoDBSaver as Saver  # type: ignore[import-untyped]

    table = create_table(endpoint, "PK", "SK") if stores else "checkpoints"
    saver: Any = Saver(table, endpoint_url=endpoint, region_name=REGION)
    return Opened(saver, [saver.client])


def open_first(endpoint: str, stores: bool) -> Opened:
    """`langgraph-checkpoint-dynamodb`. It has no async methods: here they are its sync ones, on asyncio's threads."""
    from langgraph_checkpoint_dynamodb.saver import DynamoDBSaver as Saver  # type: ignore[import-untyped]

    class AsyncSaver(Saver):  # type: ignore[misc]  # it has no types
        async def aget_tuple(self, *arguments: Any) -> Any:
            return await asyncio.to_thread(self.get_tuple, *arguments)

        async def aput(self, *arguments: Any) -> Any:
            return await asyncio.to_thread(self.put, *arguments)

        async def aput_writes(self, *arguments: Any) -> None:
            await asyncio.to_thread(self.put_writes, *arguments)

    keys = ("thread_id", "checkpoint_id"), ("thread_id_checkpoint_id_checkpoint_ns", "task_id_idx")
    tables = [create_table(endpoint, *pair) if stores else pair[0] for pair in keys]
    config = {"endpoint_url": endpoint, "region_name": REGION}
    saver: Any = AsyncSaver(client_config=config, checkpoints_table_name=tables[0], writes_table_name=tables[1])
    return Opened(saver, [saver.client, saver.dynamodb.meta.client])


SAVERS: Mapping[str, Open] = {OURS: open_ours, AWS: open_aws, FIRST: open_first}


def create_table(endpoint: str, partition_key: str, sort_key: str) -> str:
    name = f"b{uuid.uuid4().hex}"
    boto3.client("dynamodb", endpoint_url=endpoint, region_name=REGION).create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in (partition_key, sort_key)],
        KeySchema=[{"AttributeName": partition_key, "KeyType": "HASH"}, {"AttributeName": sort_key, "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name
