"""The real runtime loop against the fake Runtime API, in one asyncio loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mangum.types import ASGI

from functions.runtime.client import RuntimeClient
from functions.runtime.loop import Environment
from infra.local.invocation import Invocation, Prelude
from infra.local.runtime_api import RuntimeApi
from tests.support.events import url_event


@dataclass(slots=True)
class Reply:
    """One answer as a client of the function URL gets it; `times` are seconds since the request, one per chunk."""

    prelude: Prelude
    chunks: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    trailers: dict[str, str] | None = None
    ended: float = 0.0

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


async def collect(invocation: Invocation) -> Reply:
    """Reads an answer to its end."""
    start = time.perf_counter()
    reply = Reply(await invocation.prelude())
    async for chunk in invocation.chunks():
        reply.chunks.append(chunk)
        reply.times.append(time.perf_counter() - start)
    reply.ended, reply.trailers = time.perf_counter() - start, invocation.trailers
    return reply


async def ask(api: RuntimeApi, event: dict[str, Any] | None = None) -> Reply:
    """Invokes with `event` (default: GET /) and reads the answer."""
    return await collect(api.invoke(event or url_event()))


@asynccontextmanager
async def serving(app: ASGI, make: Callable[[], RuntimeApi] = RuntimeApi) -> AsyncIterator[RuntimeApi]:
    """A started Runtime API whose environment runs `app`; at the end the environment is stopped and must end without an error."""
    api = make()
    await api.start()
    environment = Environment(app, RuntimeClient(api.address))
    running = asyncio.create_task(environment.run())
    try:
        yield api
    finally:
        environment.stop()
        await asyncio.wait({running}, timeout=5)
        await api.close()
        running.cancel()
        await running
