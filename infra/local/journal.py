"""Every acknowledged write as one JSON line in one file: it survives SIGKILL. A torn last line was never acknowledged."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


class DamagedJournal(Exception):
    """A line before the last one cannot be read: something other than a crash wrote this file."""


@dataclass(frozen=True, slots=True)
class Record:
    """One successful write as it came over HTTP: `target` is the raw path with its query, `headers` those that matter."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    def line(self) -> bytes:
        fields: dict[str, object] = {"m": self.method, "t": self.target, "h": self.headers}
        try:
            fields["b"] = self.body.decode()
        except UnicodeDecodeError:
            fields["b64"] = base64.b64encode(self.body).decode()
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Record:
        """Inverse of `line`. Raises `ValueError` or `KeyError`."""
        fields = json.loads(line)
        body = base64.b64decode(fields["b64"]) if "b64" in fields else fields["b"].encode()
        return cls(fields["m"], fields["t"], fields["h"], body)


class Journal:
    """The open file. One writer: the caller holds the folder's lock and calls from one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def append(self, record: Record) -> None:
        """The record is with the operating system when this returns. Raises `OSError` (disk full), then nothing of it stays in the file."""
        end = self._file.seek(0, os.SEEK_END)
        line = memoryview(record.line())
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(end)
            raise

    def records(self) -> Iterator[Record]:
        """All records from the first. Cuts a torn last line off the file. Raises `DamagedJournal` naming the line."""
        good = 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    self._file.truncate(good)
                    return
                good += len(line)
                yield self._parse(number, line)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replaces the whole file in one step: a crash leaves the old one or the new one."""
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.writelines(record.line() for record in records)
            file.flush()
            os.fsync(file.fileno())
        # closed first: Windows does not replace an open file
        self._file.close()
        os.replace(fresh, self.path)
        self._file = self.path.open("ab", buffering=0)

    def close(self) -> None:
        self._file.close()

    def _parse(self, number: int, line: bytes) -> Record:
        try:
            return Record.parse(line)
        except (ValueError, KeyError, TypeError) as exc:
            raise DamagedJournal(f"{self.path}, line {number}: {exc}") from exc
