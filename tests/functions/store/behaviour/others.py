"""The two other DynamoDB savers, each set up as its documentation says. Needs the `dev` or the `bench` group."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph_checkpoint_aws import DynamoDBSaver as AwsSaver  # type: ignore[import-untyped]
from langgraph_checkpoint_dynamodb.saver import DynamoDBSaver as FirstSaver  # type: ignore[import-untyped]

from tests.functions.store.behaviour.dynamo import DynamoStore, new_bucket, session, shared
from tests.functions.store.behaviour.stores import NotOffered, Saver
from tests.support.dynamodb import REGION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Aws(DynamoStore):
    """`langgraph-checkpoint-aws`: one table with PK and SK, a bucket if wanted; no serializer of one's own."""

    def make(self, serde: SerializerProtocol | None, ttl_seconds: int | None, client: DynamoDBClient) -> Saver:
        if serde is not None:
            raise NotOffered("no serde argument")
        offload = {"bucket_name": self.bucket, "endpoint_url": self.endpoint} if self.bucket else None
        made: Saver = AwsSaver(
            self.tables[0], session=session(), endpoint_url=self.endpoint, ttl_seconds=ttl_seconds, s3_offload_config=offload
        )
        return made

    def clients(self, saver: Any) -> list[Any]:
        return [saver.client]

    def refuses(self, behaviour: str, error: BaseException) -> bool:
        """`list` is documented to need a thread, and a TTL to count from when a checkpoint was made."""
        if behaviour == "a_question_that_was_read_lives_on":
            return True
        return super().refuses(behaviour, error) or str(error) == "Runnable config must contain thread_id"


class First(DynamoStore):
    """`langgraph-checkpoint-dynamodb`: two tables; it has no TTL and no bucket."""

    def make(self, serde: SerializerProtocol | None, ttl_seconds: int | None, client: DynamoDBClient) -> Saver:
        if ttl_seconds is not None:
            raise NotOffered("no TTL")
        client_config = {"endpoint_url": self.endpoint, "region_name": REGION}
        made: Saver = FirstSaver(
            client_config=client_config, checkpoints_table_name=self.tables[0], writes_table_name=self.tables[1], serde=serde
        )
        return made

    def clients(self, saver: Any) -> list[Any]:
        return [saver.client, saver.dynamodb.meta.client]


def aws(name: str, endpoint: str, *, with_bucket: bool = False) -> Aws:
    return Aws(name, endpoint, (_table(endpoint, "PK", "SK"),), new_bucket(endpoint) if with_bucket else None, "ttl")


def first(name: str, endpoint: str) -> First:
    keys = (("thread_id", "checkpoint_id"), ("thread_id_checkpoint_id_checkpoint_ns", "task_id_idx"))
    return First(name, endpoint, tuple(_table(endpoint, *pair) for pair in keys))


def _table(endpoint: str, partition_key: str, sort_key: str) -> str:
    name = f"t{uuid.uuid4().hex}"
    shared(endpoint).create_table(
        TableName=name,
        KeySchema=[{"AttributeName": partition_key, "KeyType": "HASH"}, {"AttributeName": sort_key, "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in (partition_key, sort_key)],
        BillingMode="PAY_PER_REQUEST",
    )
    return name
