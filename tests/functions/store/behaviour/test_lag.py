"""What `Lag` makes of an emulator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.store.behaviour.dynamo import DynamoStore, dynamodb, ours
from tests.functions.store.behaviour.lag import BEHIND, Lag


@pytest.fixture(params=["moto_endpoint", "dynalite_endpoint"])
def store(request: pytest.FixtureRequest) -> DynamoStore:
    return ours("lagging", request.getfixturevalue(request.param))


def test_only_consistent_reads_see_the_last_writes(store: DynamoStore) -> None:
    """Another read gets the table as it was some writes before, by whichever of the clients they were made."""
    (table,) = store.tables
    lag = Lag(store.endpoint, store.tables, dynamodb(store.endpoint))
    clients = [dynamodb(store.endpoint) for _ in range(2)]
    for client in clients:
        lag.attach(client)
    query: Any = {"TableName": table, "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "t"}}}
    for number in range(6):
        clients[number % 2].put_item(TableName=table, Item={"pk": {"S": "t"}, "sk": {"S": str(number)}})
        for client in clients:
            assert client.query(**query, ConsistentRead=True)["Count"] == number + 1
            assert client.query(**query)["Count"] == max(0, number + 1 - BEHIND)
            stale = client.get_item(TableName=table, Key={"pk": {"S": "t"}, "sk": {"S": str(number)}})
            assert "Item" not in stale
