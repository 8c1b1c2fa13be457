"""The benchmark runs from end to end, small and without its peers: every row is there, and every number with a limit. No time is tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as bench
from tests.bench.events import measure_events
from tests.bench.first import measure_first
from tests.bench.memory import in_own_process, measure_memory, peaks
from tests.bench.path import PATH, UNOBSERVED, measure_path
from tests.bench.plot import panels, svg
from tests.bench.report import Measured
from tests.bench.savers import SAVERS
from tests.bench.sizes import measure_sizes
from tests.bench.store import Plan, measure_store
from tests.bench.store import ways as store_ways
from tests.bench.stream import measure_stream
from tests.bench.subjects import FLOOR, OURS, SUBJECTS, serve_ours

pytestmark = pytest.mark.long


def ways(measured: Measured) -> list[str]:
    return [row["way"] for row in measured.rows]


async def test_the_stream_is_measured_beside_every_other_way() -> None:
    """A row per way, and the ratios to the bare transformer and to the drain have a limit."""
    measured = await measure_stream(SUBJECTS, tokens=3, rounds=1)
    assert ways(measured) == list(SUBJECTS)
    assert [check.limit for check in measured.checks] == [1.25, 1.4]
    assert all(row["bytes_per_token"] for row in measured.rows)


async def test_the_path_ends_at_the_runtime_api() -> None:
    """What comes out there is what the stream alone sends."""
    measured = await measure_path(tokens=3, rounds=1)
    assert ways(measured) == [FLOOR, OURS, UNOBSERVED, PATH]
    sent = {row["way"]: row["bytes_per_token"] for row in measured.rows}
    assert sent[PATH] == pytest.approx(sent[OURS], rel=0.05)


async def test_sizes_are_within_their_limits() -> None:
    """Bytes are no matter of time: at their full size, too, no limit is broken."""
    measured = await measure_sizes({"a peer": serve_ours})
    assert ways(measured) == [OURS, "a peer"]
    assert [str(check) for check in measured.checks if check.value > check.limit] == []


async def test_the_first_event_is_measured_by_history_and_store() -> None:
    """A row per store and length."""
    measured = await measure_first(rounds=1, histories=(2,))
    assert [(row["store"], row["messages"]) for row in measured.rows] == [
        ("in memory", 2),
        ("DynamoDB (moto)", 2),
    ]


async def test_a_run_is_measured_in_the_store() -> None:
    """A row per way, beside the two other savers, and every figure with a limit is checked."""
    measured = await measure_store(Plan(rounds=1, history=2, short=2, long=4, later=1, at_once=2, period=1, warm_up=0))
    assert ways(measured) == [way.name for way in store_ways(SAVERS, 1)]
    assert all(row["calls"] and row["write_units"] and row["wall_ms"] for row in measured.rows)
    assert len(measured.checks) == 20
    counted = [check for check in measured.checks if check.unit in ("calls", "units")]
    assert [str(check) for check in counted if check.value > check.limit] == []


def test_memory_is_measured_beside_the_drain() -> None:
    """A row per way, with the peak of the process and of the run."""
    measured = measure_memory(tokens=10, ways=(FLOOR, OURS), run=peaks)
    assert ways(measured) == [FLOOR, OURS]
    assert all(row["peak_mb"] > row["of_the_run_mb"] >= 0 for row in measured.rows)


def test_a_way_has_a_process_of_its_own() -> None:
    """The peaks are those of another process."""
    assert in_own_process(FLOOR, 10).keys() == {"peak_mb", "of_the_run_mb"}


def test_the_command_saves_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`agents bench`: a table to the terminal, JSON with machine and versions to a file, a picture beside it."""
    picture = tmp_path / "bench.svg"
    bench.main(["--tokens", "3", "--rounds", "1", "--save", str(tmp_path), "--plot", str(picture)], {})
    assert "µs/token" in capsys.readouterr().out
    result: dict[str, Any] = json.loads((tmp_path / "stream.json").read_text(encoding="utf-8"))
    assert {"date", "machine", "python", "versions"} <= result.keys()
    assert [row["way"] for row in result["rows"]] == list(SUBJECTS)
    results = {"stream": result}
    assert picture.read_text(encoding="utf-8") == svg(panels(results), bench.caption(results))


async def test_keeping_events_is_measured() -> None:
    """A row for each rate, within its limit; the slower model needs more batches."""
    measured = await measure_events(tokens=100)
    slow, fast = measured.rows
    assert slow["batches"] > fast["batches"] > 0
    assert all(check.value <= check.limit for check in measured.checks)
