"""DynamoDB's eventual consistency, which no emulator has: a copy of the tables that is some writes behind answers the reads that allow it.

It works on requests as they go over the wire, so that it suits any saver, also one on boto3's resources.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import urllib3

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BEHIND = 3
"""Calls that write and are not seen yet."""
READS = ("GetItem", "Query", "Scan", "BatchGetItem")
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
UNSIGNED = "AWS4-HMAC-SHA256 Credential=test/20300101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
"""No emulator looks at signatures."""


class Lag:
    """Of some tables, empty when it begins, for all clients that it is attached to."""

    def __init__(self, endpoint: str, tables: Sequence[str], client: DynamoDBClient) -> None:
        self._endpoint = endpoint
        self._http = urllib3.PoolManager()
        self._copies = {f'"{table}"'.encode(): f'"{table}-{id(self)}"'.encode() for table in tables}
        self._unseen: deque[tuple[bytes, str]] = deque()
        self._turn = threading.Lock()
        for table in tables:
            found: Any = client.describe_table(TableName=table)["Table"]
            schema = {name: found[name] for name in ("KeySchema", "AttributeDefinitions")}
            client.create_table(TableName=f"{table}-{id(self)}", BillingMode="PAY_PER_REQUEST", **schema)

    def attach(self, client: DynamoDBClient) -> None:
        client.meta.events.register("before-call.dynamodb", self._route)

    def _route(self, model: Any, params: dict[str, Any], **_: Any) -> None:
        """A read without consistency goes to the copy now, a write some writes later."""
        if model.name in READS and b'"ConsistentRead": true' not in params["body"]:
            params["body"] = self._of_the_copy(params["body"])
        if model.name in WRITES:
            with self._turn:
                self._unseen.append((params["body"], params["headers"]["X-Amz-Target"]))
                while len(self._unseen) > BEHIND:
                    self._repeat(*self._unseen.popleft())

    def _of_the_copy(self, body: bytes) -> bytes:
        for table, copy in self._copies.items():
            body = body.replace(table, copy)
        return body

    def _repeat(self, body: bytes, target: str) -> None:
        headers = {
            "X-Amz-Target": target,
            "X-Amz-Date": "20300101T000000Z",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": UNSIGNED,
        }
        self._http.request("POST", self._endpoint, body=self._of_the_copy(body), headers=headers)
