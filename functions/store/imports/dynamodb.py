"""The two tables of `langgraph-checkpoint-dynamodb` 0.1.0 (`langgraph_checkpoint_dynamodb.saver`, `.write`).

    checkpoints   thread_id                                  checkpoint_id      `checkpoint` and `metadata`, both of one `type`
    writes        <thread>:::<checkpoint>:::<namespace>      <task>:::<index>   `channel`, `type`, `value`

An index is the position in the list, also for special channels, and sorts as text. Paths of tasks are not kept. Nothing expires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.store.imports.foreign import ForeignTable, Header, Item, Payload, Sealed, Write, latest_last

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PACKAGE = "langgraph-checkpoint-dynamodb"
_PARTITION = "thread_id_checkpoint_id_checkpoint_ns"
_SEPARATOR = ":::"


class TwoTables:
    """The tables of one such saver."""

    def __init__(self, checkpoints_table_name: str, writes_table_name: str, *, client: DynamoDBClient) -> None:
        self._checkpoints = ForeignTable(checkpoints_table_name, client)
        self._writes = ForeignTable(writes_table_name, client)

    def check(self) -> None:
        self._checkpoints.check(("thread_id", "checkpoint_id"), PACKAGE)
        self._writes.check((_PARTITION, "task_id_idx"), PACKAGE)

    def threads(self) -> list[str]:
        found: dict[str, str] = {}
        for row in self._checkpoints.scan(ProjectionExpression="thread_id, checkpoint_id"):
            thread_id = row["thread_id"]["S"]
            found[thread_id] = max(found.get(thread_id, ""), row["checkpoint_id"]["S"])
        return latest_last(found)

    def headers(self, thread_id: str) -> list[Header]:
        """In order: the checkpoint's id is the sort key."""
        wanted = "checkpoint_id, checkpoint_ns, parent_checkpoint_id"
        return [
            Header(thread_id, _text(row, "checkpoint_ns") or "", row["checkpoint_id"]["S"], _text(row, "parent_checkpoint_id"), row)
            for row in self._checkpoints.query("thread_id", thread_id, ProjectionExpression=wanted)
        ]

    def payload(self, header: Header) -> Payload | None:
        row = self._checkpoints.get(thread_id=header.thread_id, checkpoint_id=header.checkpoint_id)
        if row is None:
            return None
        kind = row["type"]["S"]
        return Payload(Sealed(kind, row["checkpoint"]["B"]), Sealed(kind, row["metadata"]["B"]))

    def writes(self, header: Header) -> list[Write]:
        key = _SEPARATOR.join((header.thread_id, header.checkpoint_id, header.namespace))
        found: list[Write] = []
        for row in self._writes.query(_PARTITION, key):
            task_id, _, position = row["task_id_idx"]["S"].rpartition(_SEPARATOR)
            value = Sealed(row["type"]["S"], row["value"]["B"])
            found.append(Write(task_id, "", int(position), row["channel"]["S"], value))
        return found


def _text(row: Item, name: str) -> str | None:
    """None also for DynamoDB's own null."""
    text: str | None = row.get(name, {}).get("S")
    return text
