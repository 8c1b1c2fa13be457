"""One agent in a worker process, as `agents dev` and Lambda run it, and what one conversation with it used."""

from __future__ import annotations

import base64
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from infra.cli.agui import read_events, run_input, split_lines
from infra.cli.session import open_interrupts
from infra.local.environment import Environment
from infra.local.output import Console
from infra.local.variables import FunctionVariables, bare
from tests.bench.cost.talks import CALL, Talk, answer
from tests.bench.cost.wire import Wire
from tests.support.events import url_event

DONE = ("RUN_FINISHED", "RUN_ERROR")


class RunFailed(Exception):
    """A run of the measurement did not end well: its counters would mean nothing."""


class Worker:
    """`init_cpu_seconds`: CPU of its process at its first `next`, without a spare's head start."""

    def __init__(self, environment: Environment, wire: Wire, lines: list[str]) -> None:
        self.init_cpu_seconds = _cpu_seconds(environment.pid)
        self._environment = environment
        self._wire = wire
        self._lines = lines

    async def converse(self, talk: Talk) -> Counter[str]:
        """One conversation on a new thread → the sums over its runs."""
        thread = str(uuid4())
        self._wire.taken()
        self._lines.clear()
        busy = _cpu_seconds(self._environment.pid)
        sums: Counter[str] = Counter()
        for text in talk.texts:
            open_, sent = await self._run(run_input(thread, text=text, state=talk.state))
            sums += sent
            while open_:
                open_, sent = await self._run(run_input(thread, resume=[answer(one) for one in open_], state=talk.state))
                sums += sent
        sums["cpu_seconds"] = _cpu_seconds(self._environment.pid) - busy  # type: ignore[assignment]
        return sums + self._wire.taken() + self._said()

    @property
    def memory_mb(self) -> int:
        """Peak of the process. Linux only."""
        status = Path(f"/proc/{self._environment.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1_024

    async def import_documents(self, talk: Talk) -> None:
        """What the conversation is about, over the URL as a user would."""
        for name, content in talk.documents.items():
            event = url_event("/kb/documents", "POST", base64.b64encode(content).decode(), isBase64Encoded=True)
            event["rawQueryString"] = f"kb={talk.state['kbId']}&name={quote(name)}"
            status, body, _ = await self._invoke(event)
            if status != 200 or b'"completed"' not in body:
                raise RunFailed(f"import of {name}: {status} {body.decode()}")

    async def _run(self, body: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Counter[str]]:
        """One run → what it asks, and what it took."""
        status, streamed, seconds = await self._invoke(url_event("/", "POST", json.dumps(body)))
        events = list(read_events(split_lines([streamed])))
        if status != 200 or not events or events[-1]["type"] != "RUN_FINISHED":
            raise RunFailed(f"{status} {streamed[-500:].decode(errors='replace')}")
        return open_interrupts(events[-1]), Counter({"runs": 1, "seconds": seconds, "streamed_bytes": len(streamed)})

    async def _invoke(self, event: Mapping[str, Any]) -> tuple[int, bytes, float]:
        """Status, body, and the seconds that Lambda would bill: until the worker asks for its next event."""
        began = time.perf_counter()
        invocation = await self._environment.invoke(event, timeout_ms=900_000)
        prelude = await invocation.prelude()
        body = b"".join([chunk async for chunk in invocation.chunks()])
        await self._environment.settle(invocation)
        return prelude.status, body, time.perf_counter() - began

    def _said(self) -> Counter[str]:
        """Log lines, and the model's calls that the measurement's app told among them."""
        said: Counter[str] = Counter()
        for line in (line.partition("] ")[2] for line in self._lines):
            if line.startswith(CALL):
                usage = json.loads(line.removeprefix(CALL))
                said += Counter({"model_calls": 1, "input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]})
            else:
                said += Counter({"log_lines": 1, "log_bytes": len(line.encode())})
        return said


@asynccontextmanager
async def worker(agent: str, wire: Wire, token_ms: int) -> AsyncIterator[Worker]:
    """A process of the agent, whose offline model pauses so long before each token."""
    lines: list[str] = []
    user = {"AGENTS_OFFLINE_DELAY_MS": str(token_ms), "_HANDLER": "tests.bench.cost.app.app", "AGENTS_LEASE_SECONDS": "30"}
    variables = FunctionVariables(user=user, base=bare(os.environ), store=wire.address, urls={})
    environment = Environment(Console(verbose=True, write=lines.append))
    try:
        await environment.start(bare(os.environ), preload=())
        await environment.adopt(agent, variables(agent))
        yield Worker(environment, wire, lines)
    finally:
        await environment.stop()


def _cpu_seconds(pid: int) -> float:
    """CPU that a process and its threads have used, also those that ended. Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
