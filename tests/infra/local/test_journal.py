"""The journal's file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from infra.local.journal import DamagedJournal, Journal, Record

TEXT = Record("POST", "/", {"x-amz-target": "DynamoDB_20120810.PutItem"}, '{"a": "你好\n"}'.encode())
BINARY = Record("PUT", "/bucket/a%20b", {"content-type": "image/png"}, b"\x00\xff\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def written(path: Path, *records: Record) -> Journal:
    journal = Journal(path)
    for record in records:
        journal.append(record)
    return journal


@pytest.mark.parametrize("record", [TEXT, BINARY])
def test_round_trip(record: Record) -> None:
    """A record is one line, whatever its body holds, and comes back the same."""
    assert record.line().count(b"\n") == 1
    assert Record.parse(record.line()) == record


def test_appended_records_are_in_the_file_at_once(path: Path) -> None:
    """Nothing waits in a buffer of this process: what a SIGKILL leaves is everything."""
    journal = written(path, TEXT, BINARY)
    assert path.read_bytes() == TEXT.line() + BINARY.line()
    journal.close()


@pytest.mark.parametrize("torn", [1, 20, len(BINARY.line()) - 1])
def test_a_torn_last_line_is_cut_off(path: Path, torn: int) -> None:
    """A line that a crash cut short was never acknowledged: it is dropped, and the next record begins a line of its own."""
    path.write_bytes(TEXT.line() + BINARY.line()[:torn])
    journal = Journal(path)
    assert list(journal.records()) == [TEXT]
    journal.append(BINARY)
    assert list(journal.records()) == [TEXT, BINARY]
    journal.close()


def test_damage_in_the_middle_is_refused(path: Path) -> None:
    """A bad line before the last one is no crash's: it is named and nothing is thrown away."""
    path.write_bytes(TEXT.line() + b"{}\n" + TEXT.line())
    journal = Journal(path)
    with pytest.raises(DamagedJournal, match="line 2"):
        list(journal.records())
    assert path.read_bytes().count(b"\n") == 3
    journal.close()


def test_rewrite_replaces_everything(path: Path) -> None:
    """After a rewrite the file holds the new records and takes more."""
    journal = written(path, TEXT, TEXT, TEXT)
    journal.rewrite([BINARY])
    journal.append(TEXT)
    assert list(journal.records()) == [BINARY, TEXT]
    journal.close()


class FullDisk(io.FileIO):
    """Takes the first ten bytes of a write and then has no room."""

    room = 10

    def write(self, data: object, /) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        taken, self.room = self.room, 0
        return super().write(bytes(data)[:taken])  # type: ignore[call-overload]


def test_a_failed_write_leaves_nothing_behind(path: Path) -> None:
    """When the disk is full the record is refused and its first half is taken out again."""
    journal = written(path, TEXT)
    whole, journal._file = journal._file, FullDisk(path, "ab")
    with pytest.raises(OSError, match="No space"):
        journal.append(BINARY)
    assert list(journal.records()) == [TEXT]
    journal.close()
    whole.close()
