"""What must hold whatever comes: no 5xx, no hang, no word of our inside, streams that end once and are legal, threads that go on."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from functions.runtime.context import LambdaContext
from functions.runtime.cycle import SEPARATOR, Cycle
from functions.runtime.events import BadRequest, NotHttpEvent, asgi_scope
from tests.fuzz.mutating import Mutator, run_input
from tests.support.events import CONTEXT_HEADERS, url_event
from tests.support.sse import framing_faults, read_sse
from tests.support.stream_lifecycle import lifecycle_faults

HANGS = 20.0
"""Seconds after which a request hangs."""
EVERY = 100
"""Requests after which a thread is tried with a good one."""
INSIDE = re.compile(
    rb"Traceback|File \"|/work|/site-packages|\.py\b|functions\.|graphs\.|langgraph\.|pydantic|botocore|arn:aws|0x[0-9a-f]{8}"
)
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


@dataclass
class Report:
    """`said`: how often each status, or end of a stream; `faults`: what must not be, with the request's number."""

    said: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Sink:
    """Where the runtime writes a response."""

    def __init__(self) -> None:
        self.data = b""
        self.trailers: Any = None

    async def write(self, *parts: bytes) -> None:
        self.data += b"".join(parts)

    async def end(self, trailers: Any = None) -> None:
        self.trailers = trailers


async def attack(app: Any, requests: int, seed: int, told: Callable[[int], None] = lambda _: None) -> Report:
    """So many broken events of a function URL, one after the other, as the runtime hands them to the app."""
    mutator, report = Mutator(seed), Report()
    context = LambdaContext.from_headers(CONTEXT_HEADERS)
    for number in range(requests):
        event = mutator.event(number)
        await _one(app, event, context, number, report)
        if number % EVERY == EVERY - 1:
            await _still_usable(app, number, context, report)
            told(number + 1)
    return report


async def _one(app: Any, event: Any, context: LambdaContext, number: int, report: Report) -> None:
    try:
        scope, body = asgi_scope(event, context)
    except (BadRequest, NotHttpEvent) as refused:
        report.said[type(refused).__name__] += 1
        return
    sink = Sink()
    scope["state"] = {}
    try:
        async with asyncio.timeout(HANGS):
            await Cycle(scope, body, sink).run(app)
    except TimeoutError:
        report.faults.append(f"{number}: hangs")
        return
    for fault in _faults(sink, scope["path"], report):
        report.faults.append(f"{number}: {scope['method']} {scope['path'][:80]}: {fault}")


def _faults(sink: Sink, path: str, report: Report) -> list[str]:
    head, _, body = sink.data.partition(SEPARATOR)
    status = json.loads(head)["statusCode"]
    kind = json.loads(head)["headers"].get("content-type", "")
    found = [f"trailers {sink.trailers}"] if sink.trailers else []
    if status >= 500 and status != 503:
        found.append(f"{status} {body[:200]!r}")
    if "text/event-stream" not in kind:
        report.said[str(status)] += 1
        if status >= 400 and (inside := INSIDE.search(body)):
            found.append(f"says {inside[0]!r}: {body[:200]!r}")
        return found
    events = read_sse(body)
    end = events[-1] if events else {}
    report.said[f"{status} {end.get('type')} {end.get('code') or (end.get('outcome') or {}).get('type')}"] += 1
    found += framing_faults(body)
    terminals = [event["type"] for event in events if event["type"] in TERMINAL]
    if len(terminals) != 1 or end.get("type") not in TERMINAL:
        found.append(f"ends with {[event['type'] for event in events[-3:]]}")
    found += [f"{fault}" for fault in lifecycle_faults(events)]
    if end.get("type") == "RUN_ERROR" and (inside := INSIDE.search(str(end.get("message")).encode())):
        found.append(f"says {inside[0]!r}: {end['message'][:200]}")
    return found


async def _still_usable(app: Any, number: int, context: LambdaContext, report: Report) -> None:
    """A thread that broken requests have named takes a good one."""
    good = run_input(number) | {"resume": None, "runId": f"good{number}", "threadId": f"t{number % 40}"}
    good["messages"] = [{"id": f"good{number}", "role": "user", "content": "start demo"}]
    scope, body = asgi_scope(url_event("/", "POST", json.dumps(good)), context)
    scope["state"] = {}
    sink = Sink()
    async with asyncio.timeout(HANGS):
        await Cycle(scope, body, sink).run(app)
    events = read_sse(sink.data.partition(SEPARATOR)[2])
    if not events or events[-1]["type"] != "RUN_FINISHED":
        report.faults.append(f"{number}: the thread t{number % 40} takes no run any more: {sink.data[:300]!r}")
