"""Cold starts: from the start of the process to the first event of its first run, CPU and wall, beside a peer.

Ours is the bundle as shipped, started by its wrapper and asked through the Runtime API; the peer's is made by the same recipe of the same
lock, started with uvicorn and asked over HTTP (`cold_peer`). Both run the same graph on tables of the same emulator, by Lambda's Python.
CPU is user and system time of the process, which is killed at its first event: what Lambda at a share of a core takes longer for.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.runtime_api import RuntimeApi
from infra.local.store import Store
from tests.bench.cold_bundles import PEER_APP, peer_bundle
from tests.bench.report import Check, Measured, Row
from tests.bench.savers import create_table
from tests.support.bundles import bundle_here, lambda_python
from tests.support.lambda_place import Place, function_config, signed_event, variables
from tests.support.rie import free_port

AGENT = "dev"
OURS, PEER = "this project", "ag-ui-langgraph + checkpoint-aws"
PYTHON, ENGINE = "python alone", "langgraph.graph alone"
LIMIT = 0.85
WARM_UP = 1
"""Rounds that are not counted: the bundles' files come into the page cache."""
RUN = {
    "threadId": "cold",
    "runId": "r1",
    "messages": [{"id": "u1", "role": "user", "content": "start demo"}],
    **{"state": {}, "tools": [], "context": [], "forwardedProps": {}},
}


@dataclass(frozen=True, slots=True)
class Start:
    """One cold start: CPU and wall in seconds, until the first event."""

    cpu: float
    wall: float


Way = Callable[[int], Awaitable[Start]]
"""(number of the round) → a start."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What every way starts with: an interpreter, the emulator's address, a folder for what the processes write."""

    python: str
    endpoint: str
    folder: Path


async def measure_cold(rounds: int) -> Measured:
    """Rows: the interpreter and the engine alone, which both pay, then ours and the peer; `vs_peer` is the median of the rounds' ratios."""
    own_keys()
    # the store in a process of its own: this one has to be awake when the first event comes, or the function goes on with its run
    store = await Store.start(None, table_prefix="agents-", env=dict(os.environ), output=lambda *said: None)
    try:
        with tempfile.TemporaryDirectory() as folder:
            stage = Stage(lambda_python(), f"http://{store.address}", Path(folder))
            taken = await _compare(_ways(stage), rounds)
    finally:
        await store.stop()
    rows = [_row(way, starts, taken[PEER]) for way, starts in taken.items()]
    ratio = next(row["vs_peer"] for row in rows if row["way"] == OURS)
    check = Check("CPU from process start to the first event, beside the peer", ratio, LIMIT, "×")
    return Measured("cold", f"Cold start to the first event of `{AGENT}`, seconds", rows, [check], "cpu_s")


def own_keys() -> None:
    """For the clients of this process; the emulator takes any."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_EC2_METADATA_DISABLED": "true"}


def _ways(stage: Stage) -> dict[str, Way]:
    table = create_table(stage.endpoint, "PK", "SK")
    ours, peer = bundle_here(AGENT), peer_bundle(AGENT)
    return {
        PYTHON: _alone(stage, ours, "pass"),
        ENGINE: _alone(stage, ours, "import langgraph.graph"),
        OURS: _ours(stage, ours),
        PEER: _peer(stage, peer, table),
    }


async def _compare(ways: Mapping[str, Way], rounds: int) -> dict[str, list[Start]]:
    """Every way once a round, in an order that turns."""
    taken: dict[str, list[Start]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(WARM_UP + rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = await ways[name](number)
            if number >= WARM_UP:
                taken[name].append(start)
        print(f"\rcold start {number + 1}/{WARM_UP + rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return taken


def _row(way: str, starts: Sequence[Start], peers: Sequence[Start]) -> Row:
    cpu = [start.cpu for start in starts]
    return {
        "way": way,
        "cpu_s": round(statistics.median(cpu), 2),
        "cpu_min_max": f"{min(cpu):.2f}–{max(cpu):.2f}",
        "wall_s": round(statistics.median(start.wall for start in starts), 2),
        "vs_peer": round(statistics.median(a.cpu / b.cpu for a, b in zip(starts, peers, strict=True)), 2),
    }


@asynccontextmanager
async def _timed(command: Sequence[str], env: Mapping[str, str], folder: Path) -> AsyncIterator[list[Start]]:
    """Starts a process for the block, kills it afterwards and puts into the list what it has used."""
    used: list[Start] = []
    with (folder / "cold.log").open("ab") as log:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=dict(env), cwd=folder, stdout=log, stderr=log)  # noqa: ASYNC220 - asyncio would reap it
    try:
        yield used
    finally:
        wall = time.perf_counter() - began
        process.kill()
        used.append(Start(_reaped(process), wall))


def _reaped(process: subprocess.Popen[bytes]) -> float:
    """Seconds of CPU of a process that ends now, user and system, all its threads."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _alone(stage: Stage, task: Path, code: str) -> Way:
    async def start(number: int) -> Start:
        env = {**variables(str(task), "127.0.0.1:9"), "PYTHONPATH": str(task)}
        began = time.perf_counter()
        process = subprocess.Popen([stage.python, "-c", f"{code}; import os; os._exit(0)"], env=env, cwd=stage.folder)  # noqa: ASYNC220 - asyncio would reap it
        used = await asyncio.to_thread(_reaped, process)
        if process.returncode:
            raise RuntimeError(f"{code!r} ended with {process.returncode}")
        return Start(used, time.perf_counter() - began)

    return start


def _ours(stage: Stage, task: Path) -> Way:
    place = Place(task, stage.folder, stage.python, confined=())

    async def start(number: int) -> Start:
        api = RuntimeApi()
        await api.start()
        event = signed_event(body=json.dumps(RUN | {"threadId": f"cold{number}"}))
        env = variables(place.root, api.address, function_config(AGENT, stage.endpoint))
        async with _timed(place.command(), env, stage.folder) as used, asyncio.timeout(120):
            async for chunk in api.invoke(event).chunks():
                if b"data:" in chunk:
                    break
        await api.close()
        return used[0]

    return start


def _peer(stage: Stage, task: Path, table: str) -> Way:
    module = PEER_APP.stem
    paths = {"PYTHONPATH": f"{task}:{task / PEER_APP.parent}", "PEER_TABLE": table}

    async def start(number: int) -> Start:
        port = free_port()
        env = variables(str(task), "127.0.0.1:9", {**function_config(AGENT, stage.endpoint), **paths})
        command = [stage.python, "-m", "uvicorn", f"{module}:app", "--port", str(port), "--log-level", "warning"]
        async with _timed(command, env, stage.folder) as used, asyncio.timeout(120):
            await _first_event(port, json.dumps(RUN | {"threadId": f"cold{number}"}).encode())
        return used[0]

    return start


async def _first_event(port: int, body: bytes) -> None:
    """POSTs as soon as somebody listens, and reads up to the first event."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except ConnectionRefusedError:
            await asyncio.sleep(0.005)
    head = (
        f"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await reader.readuntil(b"data:")
    writer.close()
