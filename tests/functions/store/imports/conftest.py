"""Tables of the two other savers, written by the packages themselves."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_checkpoint_aws.checkpoint.dynamodb import DynamoDBSaver as AwsSaver  # type: ignore[import-untyped]
from langgraph_checkpoint_dynamodb.saver import DynamoDBSaver as TwoTablesSaver  # type: ignore[import-untyped]

from functions.store.imports import AwsTable, TwoTables
from functions.store.imports.aws import Bucket
from functions.store.imports.foreign import Source
from tests.support.dynamodb import REGION, Dynamo

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

PREFIX = "old/app/"
KINDS = ("aws", "aws-gzip", "aws-s3", "dynamodb")


@dataclass(frozen=True)
class Origin:
    """A foreign saver, and our reader of what it stores."""

    saver: BaseCheckpointSaver[Any]
    source: Source
    client: DynamoDBClient
    tables: tuple[str, ...]

    def items(self) -> list[dict[str, Any]]:
        """Everything that the saver has stored in DynamoDB, in a fixed order."""
        pages = [page for table in self.tables for page in self.client.get_paginator("scan").paginate(TableName=table)]
        return sorted((item for page in pages for item in page["Items"]), key=str)

    def delete(self, found: dict[str, Any]) -> None:
        self.client.delete_item(TableName=self.tables[0], Key={"PK": found["PK"], "SK": found["SK"]})


MakeOrigin = Callable[..., Origin]


def make_table(client: DynamoDBClient, partition_key: str, sort_key: str) -> str:
    name = f"old-{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in (partition_key, sort_key)],
        KeySchema=[{"AttributeName": partition_key, "KeyType": "HASH"}, {"AttributeName": sort_key, "KeyType": "RANGE"}],
    )
    return name


@pytest.fixture(scope="session")
def boto_session() -> boto3.Session:
    """One for all: each reads botocore's models anew."""
    return boto3.Session()


@pytest.fixture
def make_origin(boto_session: boto3.Session, dynamo: Dynamo, s3: S3Client, bucket: str) -> MakeOrigin:
    """`kind` as in `KINDS`; `options` for the saver of that package."""

    def aws(kind: str, **options: Any) -> Origin:
        table = make_table(dynamo.client, "PK", "SK")
        offload = {"bucket_name": bucket, "endpoint_url": dynamo.endpoint, "key_prefix": PREFIX} if kind == "aws-s3" else None
        saver = AwsSaver(
            table,
            session=boto_session,
            endpoint_url=dynamo.endpoint,
            region_name=REGION,
            enable_checkpoint_compression=kind == "aws-gzip",
            s3_offload_config=offload,
            **options,
        )
        source = AwsTable(table, client=dynamo.client, bucket=Bucket(s3, bucket, PREFIX) if offload else None)
        return Origin(saver, source, dynamo.client, (table,))

    def make(kind: str = "aws", **options: Any) -> Origin:
        if kind != "dynamodb":
            return aws(kind, **options)
        tables = (
            make_table(dynamo.client, "thread_id", "checkpoint_id"),
            make_table(dynamo.client, "thread_id_checkpoint_id_checkpoint_ns", "task_id_idx"),
        )
        where = {"endpoint_url": dynamo.endpoint, "region_name": REGION}
        saver = TwoTablesSaver(client_config=where, checkpoints_table_name=tables[0], writes_table_name=tables[1], **options)
        return Origin(saver, TwoTables(*tables, client=dynamo.client), dynamo.client, tables)

    return make


@pytest.fixture(params=KINDS)
def origin(make_origin: MakeOrigin, request: pytest.FixtureRequest) -> Origin:
    return make_origin(request.param)


@pytest.fixture
def aws(make_origin: MakeOrigin) -> Origin:
    return make_origin("aws")
