"""What a measurement hands over, as a table for people and as JSON with the machine it was taken on."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

BAR_CHARS = 30
PACKAGES = (
    "langgraph",
    "langchain-core",
    "ag-ui-protocol",
    "pydantic",
    "ag-ui-langgraph",
    "langgraph-checkpoint-aws",
    "langgraph-checkpoint-dynamodb",
)
TITLES = {
    "us_per_token": "µs/token",
    "us_min_max": "min–max",
    "bytes_per_token": "bytes/token",
    "first_token_ms": "first token ms",
    "vs_drain": "× drain",
    "vs_bare": "× bare",
    "kb": "KB",
    "write_units": "write units",
    "kb_written": "KB written",
    "kb_sent": "KB sent",
    "dollars_per_million_tokens": "$ per million tokens",
    "calls_later": "turn 12",
    "kb_short": "KB after 10",
    "kb_long": "after 1,000",
    "grows": "× usually",
    "grows_on_average": "× on average",
    "wall_ms": "ms",
    "vs_aws": "× aws",
    "at_once_ms": "16 at once",
    "vs_aws_at_once": "× aws",
}
"""Heads of columns whose JSON name a person would not write."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """A number that has a limit."""

    what: str
    value: float
    limit: float
    unit: str

    def __str__(self) -> str:
        return f"{'ok ' if self.value <= self.limit else 'OVER'} {self.what}: {self.value:g} {self.unit} (at most {self.limit:g})"


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement: a row per way, and the numbers that have a limit. `bar` names the column that is drawn."""

    name: str
    title: str
    rows: Sequence[Row]
    checks: Sequence[Check]
    bar: str

    def __str__(self) -> str:
        return "\n".join([self.title, table(self.rows, self.bar), *map(str, self.checks)])

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def table(rows: Sequence[Row], bar: str) -> str:
    """Columns as wide as they must be, the first to the left, and a bar a row."""
    heads = [TITLES.get(name, name.replace("_", " ")) for name in rows[0]]
    cells = [[str(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    most = max(row[bar] for row in rows) or 1
    bars = ["", *("█" * max(1, round(BAR_CHARS * row[bar] / most)) for row in rows)]
    return "\n".join(f"{_line(line, widths)}  {drawn}".rstrip() for line, drawn in zip([heads, *cells], bars, strict=True))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])


def environment() -> dict[str, Any]:
    """Where and with what the numbers were taken."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": sys.version.split()[0],
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
