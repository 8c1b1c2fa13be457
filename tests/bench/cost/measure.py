"""The counters: conversations with every agent that can be deployed, averaged by run."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.costs.counters import Counters
from infra.deployment import DEPLOYABLE
from tests.bench.cost.stored import stored_bytes
from tests.bench.cost.talks import COUNTING, PAUSED, TALKS, Talk
from tests.bench.cost.wire import Wire, counted_store
from tests.bench.cost.worker import worker
from tests.bench.report import environment

ROOT = Path(__file__).parents[3]
TOKEN_MS = 50
"""Of the simulated model, in the conversation that checks what is computed for it."""
TIMES = ("seconds", "cpu_seconds")
COUNTED = ("model_calls", "input_tokens", "output_tokens", "streamed_bytes", "calls", "s3_puts", "s3_gets", "log_lines", "log_bytes")


async def measure(rounds: int, agents: Sequence[str] = DEPLOYABLE) -> dict[str, Any]:
    """What `counters.json` holds."""
    found = {}
    with counted_store() as wire:
        for agent in agents:
            sys.stderr.write(f"{agent} …\n")
            found[agent] = await _agent(agent, wire, rounds)
        sys.stderr.write("a token, and a second …\n")
        per_token, per_second = await _per_token(wire, rounds), await _per_second(wire)
    taken = environment()
    return {
        "measured": {"date": taken["date"][:10], "commit": _commit(), "machine": taken["machine"], "python": taken["python"]},
        "token_ms": TOKEN_MS,
        "agents": found,
        "per_token": per_token,
        "per_second": per_second,
    }


async def _agent(agent: str, wire: Wire, rounds: int) -> dict[str, Any]:
    talk = TALKS[agent]
    async with worker(agent, wire, 0) as fast:
        counters = await _averaged(fast, talk, wire, rounds)
        counters |= {"init_cpu_seconds": round(fast.init_cpu_seconds, 2), "memory_mb": fast.memory_mb}
    async with worker(agent, wire, TOKEN_MS) as slow:
        await slow.import_documents(talk)
        await slow.converse(talk)
        sums = await slow.converse(talk)
    # the offline model pauses before the chunk that ends a turn, too
    pauses = counters["output_tokens"] + counters["model_calls"]
    predicted = counters["seconds"] + pauses * TOKEN_MS / 1_000
    return counters | {"check": {"predicted_seconds": round(predicted, 2), "measured_seconds": round(sums["seconds"] / sums["runs"], 2)}}


async def _averaged(taken: Any, talk: Talk, wire: Wire, rounds: int) -> dict[str, Any]:
    """Counts are the same in every round; of times the round with the least counts, which the machine disturbed least."""
    await taken.import_documents(talk)
    await taken.converse(talk)
    before = stored_bytes(wire.address)
    all_ = [await taken.converse(talk) for _ in range(rounds)]
    stored = stored_bytes(wire.address).less(before)
    sums: Counter[str] = sum(all_, Counter())
    runs = all_[0]["runs"]
    return {
        "runs": runs,
        **{name: round(min(one[name] for one in all_) / runs, 3) for name in TIMES},
        **{name: round(sums[name] / sums["runs"], 2) for name in COUNTED},
        **{kind: _by_table(sums, kind) for kind in ("writes", "reads")},
        **{name: round(size / sums["runs"]) for name, size in stored._asdict().items()},
    }


def _by_table(sums: Mapping[str, float], kind: str) -> dict[str, float]:
    found = {name.partition(".")[2]: count for name, count in sums.items() if name.startswith(f"{kind}.")}
    return {table: round(count / sums["runs"], 2) for table, count in sorted(found.items())}


async def _per_token(wire: Wire, rounds: int) -> dict[str, float]:
    """What one more token of an answer adds: the difference of two long answers."""
    async with worker("reactAgent", wire, 0) as counting:
        short, long = [await _averaged(counting, Talk((f"count to {number}",)), wire, rounds) for number in COUNTING]
    tokens = long["output_tokens"] - short["output_tokens"]
    writes = long["writes"]["checkpoints"] - short["writes"]["checkpoints"]
    names = ("cpu_seconds", "streamed_bytes", "table_bytes", "event_bytes")
    return {**{name: round((long[name] - short[name]) / tokens, 6) for name in names}, "writes": round(writes / tokens, 6)}


async def _per_second(wire: Wire) -> dict[str, Any]:
    """What one more second of the same answer adds: the difference between a model that pauses and one that does not."""
    talk = Talk((f"count to {PAUSED}",))
    async with worker("reactAgent", wire, 0) as fast:
        quick = await _averaged(fast, talk, wire, 1)
    async with worker("reactAgent", wire, TOKEN_MS) as slow:
        paused = await _averaged(slow, talk, wire, 1)
    seconds = paused["seconds"] - quick["seconds"]

    def by_table(kind: str) -> dict[str, float]:
        tables = sorted({*paused[kind], *quick[kind]})
        more = {table: round((paused[kind].get(table, 0) - quick[kind].get(table, 0)) / seconds, 4) for table in tables}
        return {table: units for table, units in more.items() if units}

    more = {name: round((paused[name] - quick[name]) / seconds, 4) for name in ("calls", "event_bytes")}
    return {**more, "writes": by_table("writes"), "reads": by_table("reads")}


def _commit() -> str:
    described = subprocess.run(["git", "describe", "--always", "--abbrev=7"], cwd=ROOT, check=True, capture_output=True, text=True)
    return described.stdout.strip()


def checked(found: dict[str, Any]) -> dict[str, Any]:
    """The same, if it is what the command reads. Raises `pydantic.ValidationError`."""
    Counters.model_validate(found)
    return found
