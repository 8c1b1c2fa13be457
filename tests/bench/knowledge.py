"""`python -m tests.bench.knowledge [--sizes 100 1000 10000] [--json FILE]`: what a knowledge base in S3 costs, by its size in chunks.

Chunks are of 800 code points, half Chinese, half English, of words that are used as unevenly as in texts; vectors of 1,024 random numbers.
For each size, without and with vectors: seconds to index, bytes of the segment in S3, and, in a process of its own that has only those
bytes: seconds until it can be searched, memory, milliseconds of a search. What S3 itself adds is computed: the time of the transfer, and
list prices. 100,000 chunks are extrapolated from the two largest sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from graphs.knowledge import Chunk, Embedder, Knowledge
from graphs.knowledge.segment import Segment

SIZES = (100, 1_000, 10_000)
EXTRAPOLATED = 100_000
DIMENSION = 1_024
QUERIES = 30
MB_PER_SECOND = 70.0  # of one GET from S3 to a function of 1 GB; AWS gives 85 to 90 for larger ones
# list prices of us-east-1 in dollars: https://aws.amazon.com/s3/pricing/
PRICES = {"GET": 0.4e-6, "PUT": 5e-6, "GB-month": 0.023, "S3 Vectors query": 2.5e-6, "S3 Vectors GB-month": 0.06}
_DICE = random.Random(5)
_WORDS = ["".join(_DICE.choices("aeioubcdfghklmnprstvwz", k=_DICE.randint(3, 10))) for _ in range(30_000)]
_CHINESE = ["".join(chr(0x4E00 + int(4_000 * _DICE.random() ** 2)) for _ in range(_DICE.randint(1, 3))) for _ in range(30_000)]


class Drawn(Embeddings):
    """Any vector is as good as any other here."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [_DICE.gauss(0, 1) for _ in range(DIMENSION)]


EMBEDDER = Embedder("drawn", Drawn())


def text_of(chinese: bool) -> str:
    """About 800 code points."""
    if chinese:
        return "".join(_drawn(_CHINESE, 20)[:40] + "，。"[n % 2] for n in range(19))
    return f"{_drawn(_WORDS, 118, ' ')}."[:800]


def _drawn(things: Sequence[str], count: int, between: str = "") -> str:
    return between.join(_DICE.choices(things, cum_weights=_weights(len(things)), k=count))


@cache
def _weights(count: int) -> list[float]:
    """Zipf's: the n-th is used 1/n as often as the first."""
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


def measured(size: int, *, vectors: bool) -> dict[str, float]:
    """One size; times in seconds unless named, sizes in bytes."""
    chunks = [Chunk("kb", f"kb/d{n // 10}", str(n % 10), ("Title", f"Part {n}"), text_of(n % 2 == 0)) for n in range(size)]
    numbers = EMBEDDER.model.embed_documents([""] * size) if vectors else None
    began = time.perf_counter()
    data = Segment.of(chunks, EMBEDDER.name if vectors else "", numbers).dump()
    indexed = time.perf_counter() - began
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        command = [sys.executable, "-m", "tests.bench.knowledge", "--load", file.name]
        loaded = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"index": round(indexed, 2), "bytes": len(data), **loaded}


def load(file: str) -> dict[str, float]:
    """In a fresh process: what the first search of an environment waits for, and what the next ones cost."""
    before = _memory()
    data = Path(file).read_bytes()
    began = time.perf_counter()
    knowledge = Knowledge.of([(Segment.load(data), None)], EMBEDDER)
    loading = time.perf_counter() - began
    return {"load": round(loading, 3), "search ms": round(asyncio.run(_searching(knowledge)), 2), "MB": round(_memory() - before, 1)}


async def _searching(knowledge: Knowledge) -> float:
    """Milliseconds, the median."""
    took = []
    for number in range(QUERIES):
        query = _drawn(_CHINESE, 6) if number % 2 else _drawn(_WORDS, 7, " ")
        began = time.perf_counter()
        await knowledge.retrieve(query)
        took.append((time.perf_counter() - began) * 1_000)
    return statistics.median(took)


def _memory() -> float:
    """What this process has now, in MB; where only the most that it ever had is told, that."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def extrapolated(rows: dict[int, dict[str, float]], size: int = EXTRAPOLATED) -> dict[str, float]:
    """On the line through the two largest sizes."""
    small, large = sorted(rows)[-2:]
    share = (size - small) / (large - small)
    return {name: round(rows[small][name] + (value - rows[small][name]) * share, 1) for name, value in rows[large].items()}


def in_s3(row: dict[str, float]) -> dict[str, float]:
    """What S3 adds: seconds of the transfer at a cold start, and dollars."""
    gigabytes = row["bytes"] / 1e9
    return {
        "transfer": round(row["bytes"] / 1e6 / MB_PER_SECOND + 0.03, 2),
        "$ a month": round(gigabytes * PRICES["GB-month"], 5),
        "$ per 1,000 cold starts": round(1_000 * 2 * PRICES["GET"], 5),
        "$ per 1,000,000 searches": round(1e6 * PRICES["GET"], 2),
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    names = ("index", "bytes", "load", "transfer", "MB", "search ms", "$ a month")
    lines = [f"{'':<10}{'chunks':>9}" + "".join(f"{name:>12}" for name in names)]
    for way, rows in results.items():
        lines += [f"{way:<10}{size:>9}" + "".join(f"{row[name]:>12}" for name in names) for size, row in rows.items()]
    return "\n".join(lines)


def run(sizes: Sequence[int]) -> dict[str, Any]:
    results: dict[str, dict[str, dict[str, float]]] = {}
    for way in ("words", "vectors"):
        rows = {size: measured(size, vectors=way == "vectors") for size in sizes}
        everything = rows | ({EXTRAPOLATED: extrapolated(rows)} if len(rows) > 1 else {})
        results[way] = {f"{size}{'*' if size == EXTRAPOLATED else ''}": row | in_s3(row) for size, row in everything.items()}
    return results


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.knowledge")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", type=Path, help="keep the results there")
    parser.add_argument("--load", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.load:
        print(json.dumps(load(options.load)))
        return
    results = run(options.sizes)
    print(table(results) + "\n* extrapolated")
    if options.json:
        options.json.write_text(json.dumps(results | {"prices": PRICES}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
