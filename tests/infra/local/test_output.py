"""Which lines of a worker are shown."""

from __future__ import annotations

import json

import pytest

from infra.local.output import Console, is_loud


@pytest.mark.parametrize(
    ("stream", "line", "expected"),
    [
        ("stdout", json.dumps({"level": "INFO", "message": "started"}), False),
        ("stdout", json.dumps({"level": "WARNING", "message": "odd"}), True),
        ("stderr", json.dumps({"level": "INFO"}), False),
        ("stdout", json.dumps({"_aws": {}, "Runs": 1}), False),
        ("stdout", "a print", False),
        ("stderr", "Traceback (most recent call last):", True),
        ("stderr", "", False),
        ("stderr", "[1, 2]", True),
    ],
)
def test_is_loud(stream: str, line: str, expected: bool) -> None:
    """Warnings, errors and tracebacks are shown; information, prints and metrics are not."""
    assert is_loud(stream, line) is expected


@pytest.mark.parametrize(
    ("verbose", "expected"),
    [(False, ["[dev 1] gone", "[dev 1] | quiet"]), (True, ["[dev 1] quiet", "[dev 1] gone"])],
)
def test_a_death_shows_what_was_not_shown(verbose: bool, expected: list[str]) -> None:
    """When a worker dies its last quiet lines are shown, each with the worker's name; `--verbose` shows all as it comes."""
    lines: list[str] = []
    voice = Console(verbose=verbose, write=lines.append).voice("dev 1")
    voice("stdout", "quiet")
    voice.died("gone")
    assert lines == expected
