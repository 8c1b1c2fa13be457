"""DynamoDB's eventual consistency on moto: a copy of the tables that is some writes behind answers the reads that allow it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import urllib3

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

REPLICA = "eu-west-1"
"""moto keeps regions apart: the copy of a table is the one of the same name there."""
BEHIND = 3
"""Calls that write and are not seen yet."""
READS = ("GetItem", "Query", "Scan", "BatchGetItem")
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")


class Lag:
    """Of the tables of one store, empty when it begins, for all clients that it is attached to."""

    def __init__(self, endpoint: str, tables: Iterable[str], here: DynamoDBClient, there: DynamoDBClient) -> None:
        self._endpoint = endpoint
        self._http = urllib3.PoolManager()
        self._unseen: deque[tuple[bytes, str]] = deque()
        self._turn = threading.Lock()
        self.answered = 0
        for table in tables:
            if table in there.list_tables()["TableNames"]:
                there.delete_table(TableName=table)
            found = here.describe_table(TableName=table)["Table"]
            attributes: Any = found["AttributeDefinitions"]
            there.create_table(
                TableName=table, KeySchema=found["KeySchema"], AttributeDefinitions=attributes, BillingMode="PAY_PER_REQUEST"
            )  # type: ignore[arg-type]

    def attach(self, client: DynamoDBClient) -> None:
        client.meta.events.register("before-call.dynamodb", self._route)

    def _route(self, model: Any, params: dict[str, Any], **_: Any) -> None:
        """A read without consistency is signed for the copy's region; a write goes to the copy some writes later."""
        if model.name in READS and b'"ConsistentRead": true' not in params["body"]:
            self.answered += 1
            params["context"].setdefault("signing", {})["region"] = REPLICA
        if model.name in WRITES:
            with self._turn:
                self._unseen.append((params["body"], params["headers"]["X-Amz-Target"]))
                while len(self._unseen) > BEHIND:
                    self._repeat(*self._unseen.popleft())

    def _repeat(self, body: bytes, target: str) -> None:
        credential = f"AWS4-HMAC-SHA256 Credential=test/20300101/{REPLICA}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0", "Authorization": credential}
        self._http.request("POST", self._endpoint, body=body, headers=headers)
