"""`python -m tests.fuzz [--requests N] [--seed N]`: broken requests to every kind of route. Its counts are kept in `results/fuzz.txt`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver

from functions.settings import Settings
from functions.web import create_app
from tests.fuzz.attack import Report, attack

RESULTS = Path(__file__).parent / "results" / "fuzz.txt"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable()
    app = create_app("dev", Settings(auth="none", offline_delay_ms=0), checkpointer=InMemorySaver())
    began = time.monotonic()

    def told(number: int) -> None:
        sys.stderr.write(f"\r{number:,} of {options.requests:,}, {number / (time.monotonic() - began):.0f} a second")
        sys.stderr.flush()

    report = asyncio.run(attack(app, options.requests, options.seed, told))
    text = _text(report, options.requests, options.seed)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write("\n" + text)
    return 1 if report.faults else 0


def _text(report: Report, requests: int, seed: int) -> str:
    lines = [f"{requests:,} broken requests, seed {seed}: {len(report.faults)} faults", ""]
    lines += [f"{count:>8,}  {said}" for said, count in report.said.most_common()]
    return "\n".join([*lines, "", *report.faults[:50]]).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
