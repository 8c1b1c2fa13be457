"""A worker process as Lambda starts it, with the tables it needs. What it has written when it asks for the next event is what CloudWatch
has of a run: after that the environment may be frozen."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from functions.store.clients import dynamodb_client, s3_client
from functions.store.tables import create_tables
from infra.local.invocation import Invocation
from infra.local.runtime_api import Exchange, RuntimeApi
from tests.support.emf import Point, embedded, json_lines, points
from tests.support.events import url_event
from tests.support.runtime import Reply, collect
from tests.support.sse import read_sse

REPO = Path(__file__).parents[2]
REGION = "us-east-1"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
"""The emulator takes any."""
STARTS_WITHIN = 300.0
"""Seconds; alone on a machine it takes two."""
STOPS_WITHIN = 20.0


@dataclass(frozen=True, slots=True)
class Written:
    """The output of a process between two `next` calls."""

    stdout: str
    stderr: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The log: every line of both, but the metrics, parsed."""
        return [line for text in (self.stderr, self.stdout) for line in json_lines(text) if "_aws" not in line]

    @property
    def embedded(self) -> list[dict[str, Any]]:
        return list(embedded(self.stdout))

    @property
    def points(self) -> list[Point]:
        return [point for line in self.embedded for point in points(line)]

    def line(self, message: str) -> dict[str, Any]:
        """The one log line that says this."""
        (found,) = (line for line in self.lines if line["message"] == message)
        return found


class WatchedApi(RuntimeApi):
    """Looks at the output in the moment in which the runtime asks for an event: what comes later, comes after a thaw."""

    def __init__(self, look: Callable[[], Written]) -> None:
        super().__init__()
        self.looks: list[Written] = []
        self.asked = asyncio.Event()
        self.resets_after: int | None = None
        """Drop the client of the next response after so many pieces of it."""
        self._look = look

    async def received(self, invocation: Invocation, pieces: int) -> None:
        if self.resets_after is not None and pieces >= self.resets_after:
            self.resets_after = None
            raise ConnectionResetError("the client left")

    async def _next(self, exchange: Exchange) -> None:
        self.looks.append(self._look())
        self.asked.set()
        await super()._next(exchange)


@dataclass(slots=True)
class Worker:
    """One environment of one agent. `invoke` one after another."""

    agent: str
    api: WatchedApi
    process: asyncio.subprocess.Process
    folder: Path
    written: list[Written] = field(default_factory=list)

    def start(self, text: str | None, *, thread: str = "t", run: str = "r", timeout_ms: int = 900_000, **more: Any) -> Invocation:
        """A client's run, begun."""
        self.api.asked.clear()
        return self.api.invoke(url_event("/", "POST", json.dumps(run_input(text, thread, run, **more))), timeout_ms=timeout_ms)

    async def run(self, text: str | None, **more: Any) -> tuple[list[dict[str, Any]], Written]:
        """A run, read to its end: its events, and what was written by the time of the next `next`."""
        reply = await collect(self.start(text, **more))
        assert reply.prelude.status == 200, reply.body
        return read_sse(reply.body), await self.settled()

    async def get(self, path: str, method: str = "GET", body: str | None = None) -> tuple[Reply, Written]:
        self.api.asked.clear()
        reply = await collect(self.api.invoke(url_event(path, method, body)))
        return reply, await self.settled()

    async def settled(self) -> Written:
        """What the worker has written for the last event, once it asks for another."""
        async with asyncio.timeout(STARTS_WITHIN):
            await self.api.asked.wait()
        before, now = self.api.looks[-2], self.api.looks[-1]
        return Written(now.stdout[len(before.stdout) :], now.stderr[len(before.stderr) :])


def run_input(text: str | None, thread: str, run: str, **more: Any) -> dict[str, Any]:
    messages = [{"id": f"u-{run}", "role": "user", "content": text}] if text is not None else []
    return {"threadId": thread, "runId": run, "state": {}, "messages": messages, "tools": [], "context": [], "forwardedProps": {}, **more}


@asynccontextmanager
async def worker(agent: str, endpoint: str, folder: Path, **env: str) -> AsyncIterator[Worker]:
    """`python -m functions.runtime` with fresh tables and a bucket at `endpoint`; its output goes into `folder`."""
    variables = await asyncio.to_thread(stores, endpoint)
    out, err = folder / f"{agent}-{uuid.uuid4().hex}.out", folder / f"{agent}-{uuid.uuid4().hex}.err"
    api = WatchedApi(lambda: Written(out.read_text("utf-8"), err.read_text("utf-8")))
    await api.start()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "functions.runtime",
            cwd=REPO,
            env={**environment(agent, variables), "AWS_LAMBDA_RUNTIME_API": api.address, **env},
            stdout=stdout,
            stderr=stderr,
        )
    try:
        async with asyncio.timeout(STARTS_WITHIN):
            await api.waiting.wait()
        yield Worker(agent, api, process, folder)
    finally:
        await _end(process)
        await api.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOPS_WITHIN):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def environment(agent: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What Lambda sets, and the settings of an agent that needs no key."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH_", "LANGCHAIN_", "OTEL_", "AGENTS_"))}
    return {**kept, **variables, "AGENTS_NAME": agent, "AGENTS_AUTH": "none", "AGENTS_OFFLINE_DELAY_MS": "0"}


def stores(endpoint: str) -> dict[str, str]:
    """Makes tables and a bucket of its own → the variables that lead there."""
    prefix = f"w{uuid.uuid4().hex}-"
    create_tables(dynamodb_client(endpoint, REGION), prefix)
    s3_client(endpoint, REGION).create_bucket(Bucket=f"{prefix}bucket")
    return {**KEYS, "AWS_ENDPOINT_URL": endpoint, "AGENTS_TABLE_PREFIX": prefix, "AGENTS_BUCKET": f"{prefix}bucket"}
