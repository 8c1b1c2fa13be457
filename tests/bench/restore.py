"""SnapStart: from the restore of a clone to the first event of its first run, beside the same run once it is warm.

The clone is a fork of a process that stands at `restore/next` (`tests.support.clones`). What Lambda itself takes to bring the memory back
is not in it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from functions.store.clients import dynamodb_client
from functions.store.tables import create_tables
from tests.bench.cold import AGENT, RUN, own_keys
from tests.bench.report import Check, Measured, Row
from tests.support.bundles import bundle_here, lambda_python
from tests.support.clones import Clone, Warmed, warmed
from tests.support.lambda_place import REGION, function_config, signed_event
from tests.support.moto_server import moto_server

LIMIT_MS = 100.0
WARM_UP = 1


@dataclass(frozen=True, slots=True)
class Restored:
    """Milliseconds: `ready` from the restore to the clone's asking for an event, `first` and `again` from an event to its answer's first
    AG-UI event; `cpu` is what the clone has used in both runs."""

    ready: float
    first: float
    again: float
    cpu: float


async def measure_restore(rounds: int) -> Measured:
    own_keys()
    with tempfile.TemporaryDirectory() as folder, moto_server() as endpoint:
        create_tables(dynamodb_client(endpoint, REGION), "agents-")
        config = function_config(AGENT, endpoint)
        async with warmed(bundle_here(AGENT), lambda_python(), config, Path(folder) / "log") as process:
            taken = [await _restored(process, number) for number in range(WARM_UP + rounds)][WARM_UP:]
            memory = process.snapshot["memory_mb"]
    after = statistics.median(one.ready + one.first for one in taken)
    rows = [
        _row("restore/next to next", [one.ready for one in taken]),
        _row("first event of the first run", [one.first for one in taken]),
        _row("first event of the second run", [one.again for one in taken]),
        _row("CPU of the clone, both runs whole", [one.cpu for one in taken]),
    ]
    check = Check("from the restore to the first event of a clone", round(after, 1), LIMIT_MS, "ms")
    return Measured("restore", f"A clone of `{AGENT}`, {memory} MB at its snapshot, with the store's emulator", rows, [check], "ms")


async def _restored(process: Warmed, number: int) -> Restored:
    began = time.perf_counter()
    async with process.clone() as clone, asyncio.timeout(60):
        await clone.api.waiting.wait()
        ready = (time.perf_counter() - began) * 1000
        first = await _first_event(clone, f"restored-{number}-1")
        again = await _first_event(clone, f"restored-{number}-2")
    return Restored(ready, first, again, clone.cpu_ms)


async def _first_event(clone: Clone, thread: str) -> float:
    began = time.perf_counter()
    invocation = clone.api.invoke(signed_event(body=json.dumps(RUN | {"threadId": thread})))
    seen = 0.0
    async for chunk in invocation.chunks():
        if not seen and b"data:" in chunk:
            seen = (time.perf_counter() - began) * 1000
    return seen


def _row(what: str, values: Sequence[float]) -> Row:
    return {"what": what, "ms": round(statistics.median(values), 1), "min_max": f"{min(values):.1f}–{max(values):.1f}"}
