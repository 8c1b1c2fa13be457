"""A query of the local stack's DynamoDB looks at one partition, however large the table is, and answers as it did."""

from __future__ import annotations

import uuid
from typing import Any

import boto3
import pytest
from moto.dynamodb.models.table import Table

from tests.support.moto_server import moto_server

KEYS: Any = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]


@pytest.fixture
def table() -> Any:
    with moto_server() as endpoint:
        made = boto3.resource("dynamodb", endpoint_url=endpoint, region_name="us-east-1").create_table(
            TableName=f"t-{uuid.uuid4().hex}",
            KeySchema=KEYS,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "rank", "owner")],
            BillingMode="PAY_PER_REQUEST",
            LocalSecondaryIndexes=[_index("local", "pk", "rank")],
            GlobalSecondaryIndexes=[_index("global", "owner", "sk")],
        )
        with made.batch_writer() as batch:
            for number in range(60):
                batch.put_item({"pk": f"p{number % 3}", "sk": f"{number:03}", "rank": f"{100 - number:03}", "owner": f"o{number % 2}"})
        yield made


def _index(name: str, hash_key: str, range_key: str) -> Any:
    keys = [{"AttributeName": hash_key, "KeyType": "HASH"}, {"AttributeName": range_key, "KeyType": "RANGE"}]
    return {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}


def test_it_answers_as_it_did(table: Any) -> None:
    """In order and backwards, by page, by a local and by a global index, of a partition that is not there; a write is seen at once."""

    def asked(condition: str, values: dict[str, str], **more: Any) -> list[str]:
        found = table.query(KeyConditionExpression=condition, ExpressionAttributeValues=values, **more)
        return [item["sk"] for item in found["Items"]]

    whole = [f"{number:03}" for number in range(1, 60, 3)]
    assert asked("pk = :p", {":p": "p1"}) == whole
    assert asked("pk = :p", {":p": "p1"}, ScanIndexForward=False, Limit=2) == whole[:-3:-1]
    assert asked("pk = :p", {":p": "p1"}, ExclusiveStartKey={"pk": "p1", "sk": "010"}) == whole[4:]
    assert asked("pk = :p AND sk > :s", {":p": "p1", ":s": "050"}) == [sk for sk in whole if sk > "050"]
    assert asked("pk = :p", {":p": "p1"}, IndexName="local") == whole[::-1]
    assert len(asked("#o = :o", {":o": "o1"}, IndexName="global", ExpressionAttributeNames={"#o": "owner"})) == 30
    assert asked("pk = :p", {":p": "nobody"}) == []
    table.put_item(Item={"pk": "p1", "sk": "999"})
    assert asked("pk = :p", {":p": "p1"}) == [*whole, "999"]


def test_it_looks_at_one_partition(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At all of them where a global index is asked."""
    looked: list[int] = []
    all_items = Table.all_items

    def counted(self: Any) -> Any:
        found = all_items(self)
        looked.append(len(found))
        return found

    monkeypatch.setattr(Table, "all_items", counted)
    table.query(KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": "p1"})
    table.query(KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": "p1"}, IndexName="local")
    owned = {"KeyConditionExpression": "#o = :o", "ExpressionAttributeNames": {"#o": "owner"}}
    table.query(**owned, ExpressionAttributeValues={":o": "o1"}, IndexName="global")
    assert looked == [20, 20, 60]
