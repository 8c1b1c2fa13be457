"""What the readers of foreign tables have in common: read-only calls, and what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from functions.store.errors import StoreError, TableMissing, explained

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]
"""As in `functions.store.table`."""


class SourceError(StoreError):
    """What is to be copied cannot be read; the message says what to do."""


class Sealed(NamedTuple):
    """A serialised value: the serializer's type and its bytes. What is copied stays closed."""

    kind: str
    data: bytes


class Header(NamedTuple):
    """A checkpoint's row, without what it points to."""

    thread_id: str
    namespace: str
    checkpoint_id: str
    parent: str | None
    row: Item

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.checkpoint_id


class Payload(NamedTuple):
    """A checkpoint's contents. `metadata` None: `state` is a map with both, as `checkpoint` and `metadata`."""

    state: Sealed
    metadata: Sealed | None


class Write(NamedTuple):
    """One pending write. `value` None: its row is there and its payload is not."""

    task_id: str
    path: str
    position: int
    channel: str
    value: Sealed | None


class Source(Protocol):
    """One foreign checkpointer's data. Nothing that has expired is found. Raises `SourceError`, else `StoreError`."""

    def check(self) -> None:
        """Raises if the tables are not there or have other keys."""
        ...

    def threads(self) -> list[str]:
        """Ids of all threads, that with the oldest latest checkpoint first. Reads the whole table."""
        ...

    def headers(self, thread_id: str) -> list[Header]:
        """Of all namespaces, the oldest first."""
        ...

    def payload(self, header: Header) -> Payload | None:
        """None if it was never stored: the row is what a crash has left."""
        ...

    def writes(self, header: Header) -> list[Write]: ...


@dataclass(frozen=True, slots=True)
class ForeignTable:
    """Consistent reads of all pages of a table, by whatever names its keys have."""

    name: str
    client: DynamoDBClient

    def check(self, keys: Sequence[str], package: str) -> None:
        """`keys`: names of the partition and the sort key in the layout of `package`."""
        with self._explained():
            schema = self.client.describe_table(TableName=self.name)["Table"]["KeySchema"]
        found = [key["AttributeName"] for kind in ("HASH", "RANGE") for key in schema if key["KeyType"] == kind]
        if found != list(keys):
            raise SourceError(
                f"Table {self.name!r} was not made for {package}: its keys are {' and '.join(found)}, not {' and '.join(keys)}. "
                "Name another table, or another layout."
            )

    def get(self, **key: str) -> Item | None:
        with self._explained():
            answer = self.client.get_item(TableName=self.name, Key={n: {"S": v} for n, v in key.items()}, ConsistentRead=True)
        return answer.get("Item")

    def query(self, name: str, value: str, **options: Any) -> Iterator[Item]:
        """Items of the partition where the key `name` is `value`."""
        condition = {"KeyConditionExpression": "#pk = :pk", "ExpressionAttributeNames": {"#pk": name}}
        yield from self._pages(self.client.query, **condition, ExpressionAttributeValues={":pk": {"S": value}}, **options)

    def scan(self, **options: Any) -> Iterator[Item]:
        yield from self._pages(self.client.scan, **options)

    def _pages(self, call: Any, **request: Any) -> Iterator[Item]:
        while True:
            with self._explained():
                answer = call(TableName=self.name, ConsistentRead=True, **request)
            yield from answer["Items"]
            if not (start := answer.get("LastEvaluatedKey")):
                return
            request["ExclusiveStartKey"] = start

    @contextmanager
    def _explained(self) -> Iterator[None]:
        endpoint = self.client.meta.endpoint_url
        try:
            with explained(self.name, endpoint):
                yield
        except TableMissing as error:
            raise SourceError(
                f"There is no table {self.name!r} to import from at {endpoint}: correct its name, AWS_REGION or AWS_PROFILE."
            ) from error


def latest_last(found: dict[str, str]) -> list[str]:
    """Thread ids, by thread id → id of its latest checkpoint (LangGraph's ids sort by time)."""
    return sorted(found, key=lambda thread_id: (found[thread_id], thread_id))
