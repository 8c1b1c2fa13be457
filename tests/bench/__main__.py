"""`agents bench`: what a token costs, what a turn sends, how soon the first event is there, what a long answer holds in memory,
what a run costs in DynamoDB, what keeping its events does, and what a cold start takes.

Machines are noisy: the ways take turns, the median of the rounds counts, and a ratio compares runs of the same moment.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.bundles import measure_bundles
from tests.bench.cold import measure_cold
from tests.bench.events import measure_events
from tests.bench.first import measure_first
from tests.bench.imports import measure_imports
from tests.bench.memory import TOKENS as MEMORY_TOKENS
from tests.bench.memory import measure_memory
from tests.bench.path import measure_path
from tests.bench.plot import panels, svg
from tests.bench.report import Measured, environment
from tests.bench.restore import measure_restore
from tests.bench.sizes import measure_sizes
from tests.bench.store import Plan, measure_store
from tests.bench.stream import measure_stream
from tests.bench.subjects import SUBJECTS, Server, as_subject

NAMES = ("stream", "path", "bytes", "first", "memory", "store", "events", "cold", "imports", "restore", "bundles")
COLD = ("cold", "imports", "restore")
"""Of these the picture is another one."""


def measure(name: str, options: argparse.Namespace, peers: Mapping[str, Server]) -> Measured:
    tokens, rounds = options.tokens, options.rounds
    subjects = {**SUBJECTS, **{peer: as_subject(server) for peer, server in peers.items()}}
    measurements: Mapping[str, Callable[[], Measured]] = {
        "stream": lambda: asyncio.run(measure_stream(subjects, tokens, rounds)),
        "path": lambda: asyncio.run(measure_path(tokens, rounds)),
        "bytes": lambda: asyncio.run(measure_sizes(peers)),
        "first": lambda: asyncio.run(measure_first(rounds)),
        "memory": lambda: measure_memory(options.memory_tokens),
        "store": lambda: asyncio.run(measure_store(Plan(rounds=rounds))),
        "events": lambda: asyncio.run(measure_events()),
        "cold": lambda: asyncio.run(measure_cold(rounds)),
        "imports": lambda: measure_imports(rounds),
        "restore": lambda: asyncio.run(measure_restore(rounds)),
        "bundles": measure_bundles,
    }
    return measurements[name]()


def main(arguments: Sequence[str] | None, peers: Mapping[str, Server]) -> None:
    options = _options(arguments)
    results: dict[str, dict[str, Any]] = {}
    for name in NAMES if options.measurement == "all" else (options.measurement,):
        done = measure(name, options, peers)
        results[name] = {**environment(), "tokens": options.tokens, "rounds": options.rounds, **done.as_json()}
        if options.save:
            write(options.save / f"{name}.json", json.dumps(results[name], indent=2, ensure_ascii=False) + "\n")
        if not options.json:
            sys.stdout.write(f"{done}\n\n")
    if options.json:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
    if options.plot:
        # what an earlier call saved is drawn too
        drawn = {
            name: json.loads((options.save / f"{name}.json").read_text(encoding="utf-8"))
            for name in saved(options.save)
            if (name in COLD) == (options.measurement in COLD)
        }
        write(options.plot, svg(panels(drawn), caption(drawn)))


def saved(folder: Path) -> list[str]:
    """Which measurements a folder holds, in our order."""
    return [name for name in NAMES if (folder / f"{name}.json").exists()]


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="agents bench", description=__doc__)
    parser.add_argument("measurement", nargs="?", choices=(*NAMES, "all"), default="stream", help="what to measure (default stream)")
    parser.add_argument("--tokens", type=int, default=1_000, help="tokens of the answer (default 1000)")
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds (default 9)")
    parser.add_argument("--memory-tokens", type=int, default=MEMORY_TOKENS, help=f"tokens in `memory` (default {MEMORY_TOKENS})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the tables")
    parser.add_argument("--save", type=Path, help="also write a JSON file a measurement into this folder")
    parser.add_argument("--plot", type=Path, help="also draw what the folder of --save holds, as an SVG")
    options = parser.parse_args(arguments)
    if options.plot and not options.save:
        parser.error("--plot draws what --save has saved")
    return options


def caption(results: Mapping[str, Mapping[str, Any]]) -> str:
    result = next(iter(results.values()))
    return f"{result['date'][:10]}, {result['machine']}, Python {result['python']}, langgraph {result['versions']['langgraph']}"


if __name__ == "__main__":
    from tests.bench.peers import PEERS

    main(None, PEERS)
