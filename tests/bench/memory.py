"""The memory of one long answer: each way in a process of its own, because a process gives back little of what it once took."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench.report import Check, Measured, Row
from tests.bench.subjects import BARE, FLOOR, OURS, SUBJECTS, Subject, answering_graph

TOKENS = 100_000
LIMIT_PERCENT = 10.0
MIB = 2**20


Sizes = dict[str, float]


def in_own_process(way: str, tokens: int) -> Sizes:
    """`peaks` in a new process."""
    command = [sys.executable, "-m", "tests.bench.memory", way, str(tokens)]
    sizes: Sizes = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return sizes


def measure_memory(
    tokens: int = TOKENS, ways: Sequence[str] = (FLOOR, BARE, OURS), run: Callable[[str, int], Sizes] = in_own_process
) -> Measured:
    """`peak`: of the whole process; `of_the_run`: how far the run lifted it."""
    rows: list[Row] = [{"way": way, **run(way, tokens)} for way in ways]
    by_way = {row["way"]: row for row in rows}
    checks = [
        Check("the peak of the process, above the v3 drain's", _above(by_way, "peak_mb"), LIMIT_PERCENT, "%"),
        Check("what the run added to it, above the v3 drain's", _above(by_way, "of_the_run_mb"), LIMIT_PERCENT, "%"),
    ]
    return Measured("memory", f"Memory of one answer of {tokens} tokens", rows, checks, "peak_mb")


def _above(rows: Mapping[str, Row], what: str) -> float:
    ours, floor = (float(rows[way][what]) for way in (OURS, FLOOR))
    return round((ours - floor) / max(floor, 1) * 100, 1)


async def _drain(subject: Subject, tokens: int, number: int) -> None:
    async for _ in subject(answering_graph(tokens), number):
        pass


def _peak_of_process() -> float:
    """MB. Unix only, as the measurement is. Linux hands a parent's `ru_maxrss` on through exec: the peak of this program alone is VmHWM."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return round(int(peak) * 1024 / MIB, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB, 1)


def peaks(way: str, tokens: int) -> Sizes:
    """MB: `peak_mb` of this process, `of_the_run_mb` above its peak after a short run."""
    asyncio.run(_drain(SUBJECTS[way], 100, 0))  # imports and caches are not the run's
    before = _peak_of_process()
    asyncio.run(_drain(SUBJECTS[way], tokens, 1))
    peak = _peak_of_process()
    return {"peak_mb": peak, "of_the_run_mb": round(peak - before, 1)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(peaks(sys.argv[1], int(sys.argv[2]))))
