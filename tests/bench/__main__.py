"""`agents bench`: µs and bytes per token and the time to the first token, every way in one run, interleaved.

Machines are noisy: the ways take turns, the median of the rounds counts, and a ratio compares rounds of the same moment.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.subjects import FIRST_TOKEN, SUBJECTS, Subject, answering_graph

FLOOR, BARE, OURS = "v3 drain", "bare transformer", "this project"
BAR_CHARS = 40


@dataclass(frozen=True, slots=True)
class Sample:
    """One run. Times in microseconds of CPU (`first`: of wall)."""

    cpu: float
    first: float
    sent: int


async def measure(subject: Subject, graph: Any, number: int) -> Sample:
    gc.collect()
    sent, first = 0, 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    async for chunk in subject(graph, number):
        if not first and (FIRST_TOKEN in chunk or chunk == b"."):
            first = time.perf_counter() - wall
        sent += len(chunk)
    return Sample((time.process_time() - cpu) * 1e6, first * 1e6, sent)


async def compare(tokens: int, rounds: int) -> dict[str, list[Sample]]:
    """Round by round, every way once; the first round warms up and is not counted."""
    samples: dict[str, list[Sample]] = {name: [] for name in SUBJECTS}
    for number in range(rounds + 1):
        for name, subject in SUBJECTS.items():
            sample = await measure(subject, answering_graph(tokens), number)
            if number:
                samples[name].append(sample)
        print(f"\rround {number}/{rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples


def summary(samples: dict[str, list[Sample]], tokens: int) -> list[dict[str, Any]]:
    """A row per way: medians, and the median over the rounds of its ratio to the floor and to the bare transformer."""
    return [
        {
            "way": name,
            "us_per_token": round(statistics.median(s.cpu for s in taken) / tokens, 1),
            "bytes_per_token": round(statistics.median(s.sent for s in taken) / tokens),
            "first_token_ms": round(statistics.median(s.first for s in taken) / 1000, 2),
            "vs_drain": _ratio(taken, samples[FLOOR]),
            "vs_bare": _ratio(taken, samples[BARE]),
        }
        for name, taken in samples.items()
    ]


def _ratio(taken: Sequence[Sample], other: Sequence[Sample]) -> float:
    return round(statistics.median(a.cpu / b.cpu for a, b in zip(taken, other, strict=True)), 2)


def table(rows: Sequence[dict[str, Any]]) -> str:
    longest = max(row["us_per_token"] for row in rows)
    lines = [f"{'':22}{'µs/token':>9}{'bytes/token':>12}{'first token':>13}{'× drain':>9}{'× bare':>8}"]
    for row in rows:
        bar = "█" * max(1, round(BAR_CHARS * row["us_per_token"] / longest))
        lines.append(
            f"{row['way']:22}{row['us_per_token']:>9}{row['bytes_per_token']:>12}{row['first_token_ms']:>10} ms"
            f"{row['vs_drain']:>9}{row['vs_bare']:>8}  {bar}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="agents bench", description=__doc__)
    parser.add_argument("--tokens", type=int, default=1_000, help="tokens of the answer (default 1000)")
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds (default 9)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--save", type=Path, help="also write the JSON to this file")
    options = parser.parse_args()
    rows = summary(asyncio.run(compare(options.tokens, options.rounds)), options.tokens)
    result = {"python": sys.version.split()[0], "tokens": options.tokens, "rounds": options.rounds, "rows": rows}
    if options.save:
        options.save.write_text(json.dumps(result, indent=2) + "\n")
    sys.stdout.write((json.dumps(result, indent=2) if options.json else table(rows)) + "\n")


if __name__ == "__main__":
    main()
