"""`python -m tests.bench.cost [--rounds N] [--keep]`: what a run of each agent uses, for `agents cost`.

Conversations with every agent that can be deployed, in a worker process behind a Runtime API, with the offline model. The store counts
what it is asked by AWS's rules and answers after 8 ms. Writes `infra/costs/counters.json`, README's tables and its picture. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json

from infra.costs.counters import FILE, measured_counters
from tests.bench.cost import readme
from tests.bench.cost.measure import checked, measure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="counted conversations with each agent (default 5)")
    parser.add_argument("--keep", action="store_true", help="measure nothing: README and the picture from the counters as they are")
    options = parser.parse_args()
    if not options.keep:
        found = checked(asyncio.run(measure(options.rounds)))
        FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        measured_counters.cache_clear()
    readme.write()


if __name__ == "__main__":
    main()
