"""Places where checkpoints are kept, each with its savers: `saver` gives another one every time, as another process would."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

Saver = BaseCheckpointSaver[Any]


class NotOffered(Exception):
    """The saver's interface has no such thing; its documentation does not claim it."""


class Store(Protocol):
    """One empty place of a behaviour's own."""

    name: str

    def saver(self, *, serde: SerializerProtocol | None = None, ttl_seconds: int | None = None) -> Saver:
        """Raises `NotOffered`."""
        ...

    def watched(self) -> Saver:
        """One whose clients are its own, for hooks on them."""
        ...

    def async_saver(self) -> Any:
        """An async context manager that gives a saver for use in a loop, as `watched`."""
        ...

    def clients(self, saver: Saver) -> list[Any]:
        """The DynamoDB clients of a saver, for what counts, delays or breaks their calls; none for a store without."""
        ...

    def content(self) -> list[bytes]:
        """What is stored, by items, rows or objects."""
        ...

    def lag(self) -> None:
        """From now on a read that does not ask for consistency is answered from before the last few writes, as DynamoDB may do."""
        ...

    def expire(self) -> None:
        """Removes what has expired, as DynamoDB does up to days later."""
        ...

    def refuses(self, behaviour: str, error: BaseException) -> bool:
        """Whether the saver's documentation says that it does not do this."""
        ...


class Local:
    """What stores without a network have in common: they neither lag nor expire."""

    def saver(self) -> Saver:
        raise NotImplementedError

    def watched(self) -> Saver:
        return self.saver()

    def clients(self, saver: Saver) -> list[Any]:
        return []

    def lag(self) -> None:
        """Always consistent."""

    def expire(self) -> None:
        """Nothing expires."""

    def refuses(self, behaviour: str, error: BaseException) -> bool:
        return isinstance(error, NotImplementedError)


class Memory(Local):
    """LangGraph's own saver: the model of what is right."""

    name = "memory"

    def __init__(self) -> None:
        self._first = InMemorySaver()

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        """Another process has its own."""
        return Memory, ()

    def saver(self, *, serde: SerializerProtocol | None = None, ttl_seconds: int | None = None) -> Saver:
        if ttl_seconds is not None:
            raise NotOffered("no TTL")
        made = InMemorySaver(serde=serde)
        made.storage, made.writes, made.blobs = self._first.storage, self._first.writes, self._first.blobs
        return made

    @asynccontextmanager
    async def async_saver(self) -> AsyncIterator[Saver]:
        yield self.saver()

    def content(self) -> list[bytes]:
        first = self._first
        checkpoints = [
            part[1] for threads in first.storage.values() for found in threads.values() for kept in found.values() for part in kept[:2]
        ]
        writes = [write[2][1] for kept in first.writes.values() for write in kept.values()]
        return [*checkpoints, *writes, *(value for _, value in first.blobs.values())]


class Sqlite(Local):
    """LangGraph's saver on SQLite: a second opinion on what is right."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._file = str(folder / "checkpoints.sqlite")
        self._open: list[sqlite3.Connection] = []

    def saver(self, *, serde: SerializerProtocol | None = None, ttl_seconds: int | None = None) -> Saver:
        if ttl_seconds is not None:
            raise NotOffered("no TTL")
        self._open.append(sqlite3.connect(self._file, check_same_thread=False))
        self._open[-1].execute("PRAGMA synchronous = OFF")
        return SqliteSaver(self._open[-1], serde=serde)

    @asynccontextmanager
    async def async_saver(self) -> AsyncIterator[Saver]:
        async with AsyncSqliteSaver.from_conn_string(self._file) as saver:
            yield saver

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def content(self) -> list[bytes]:
        return [_bytes(row) for table in ("checkpoints", "writes") for row in self._rows(table)]

    def _rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        self._open.append(sqlite3.connect(self._file))
        yield from self._open[-1].execute(f"SELECT * FROM {table}")


def _bytes(row: tuple[Any, ...]) -> bytes:
    return b"|".join(value if isinstance(value, bytes) else str(value).encode() for value in row)
