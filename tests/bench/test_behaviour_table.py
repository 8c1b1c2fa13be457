"""The behaviour table is made from end to end: by another saver, with what it does, what it does not offer, and what takes too long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench import behaviour

NAMES = ["what_does_not_exist_is_none", "filter_by_configurable", "all_threads"]


pytestmark = pytest.mark.long


def test_the_command_prints_and_saves_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row a behaviour, the totals below; the file holds what was printed."""
    behaviour.main([*NAMES, "--saver", "aws", "--save", str(tmp_path / "table.txt")])
    printed = capsys.readouterr().out
    assert (tmp_path / "table.txt").read_text(encoding="utf-8") == printed
    rows = [re.split(" {2,}", line) for line in printed.splitlines() if "  " in line]
    assert dict(rows[1:]) == {
        "what does not exist is none": "ok",
        "filter by configurable": "fails",
        "all threads": "not offered",
        "ok, of 3": "1",
        "fails, of 3": "1",
        "not offered, of 3": "1",
    }


def test_a_behaviour_that_does_not_end_fails() -> None:
    """Its process is ended, and the next behaviour has another one."""
    runner = behaviour.Runner("ours", "http://127.0.0.1:1", seconds=0.01)
    assert [runner.run(name)[0] for name in NAMES[:2]] == ["fails", "fails"]
    assert runner._process is None
