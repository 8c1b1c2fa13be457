"""`python -m tests.load [--kills]`: two hundred threads for ten minutes against `agents dev`. Counts, percentiles and a picture are kept in
`results/`; the exit status is 1 if there was a fault."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.load.crowd import Plan, Seen, crowd
from tests.load.report import svg, text
from tests.support.local_stack import running_stack

RESULTS = Path(__file__).parent / "results"
LEASE_SECONDS = 6
"""With kills: whoever joins a dead run waits for so long, which ten minutes have to hold often."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=16, help="turns under way at a time")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--token-ms", type=int, default=50, help="what the model takes for a token")
    parser.add_argument("--kills", action="store_true", help="kill a worker that is at work every four seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-save", action="store_true", help="only print")
    options = parser.parse_args()
    kill_every = 4.0 if options.kills else 0.0
    plan = Plan(options.threads, options.at_once, options.minutes * 60, options.token_ms / 1_000, kill_every, options.seed)
    # who stops a run or joins it again needs one beside it, and each agent has its own
    workers = options.at_once * 3
    lease = {"AGENTS_LEASE_SECONDS": str(LEASE_SECONDS)} if options.kills else {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("--ephemeral", "--workers", str(workers), "--agent", "reactAgent", "--agent", "kb")
        with running_stack(Path(folder), *arguments, AGENTS_OFFLINE_DELAY_MS=str(options.token_ms), **lease) as stack:
            seen = asyncio.run(crowd(stack, plan, _told))
    said = text(seen, plan, workers)
    sys.stdout.write(f"\n{said}")
    if not options.no_save:
        RESULTS.mkdir(exist_ok=True)
        name = "kills" if options.kills else "load"
        (RESULTS / f"{name}.txt").write_text(said, encoding="utf-8")
        (RESULTS / f"{name}.svg").write_text(svg(seen, plan, said.splitlines()[0]), encoding="utf-8")
    return 1 if seen.faults else 0


def _told(seen: Seen, now: float) -> None:
    kills = f", {seen.kills} kills" if seen.kills else ""
    sys.stderr.write(f"\r{now:4.0f} s, {len(seen.turns):,} turns{kills}, {len(seen.faults)} faults ")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
