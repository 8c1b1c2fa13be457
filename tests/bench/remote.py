"""The Runtime API and its reader in a process of their own: what they cost is not the function's."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Any

from infra.local.runtime_api import RuntimeApi


class RemoteRuntimeApi:
    """`address` is what a runtime connects to; `ask` sends one event and returns the chunks of its answer."""

    def __init__(self, pipe: Connection, address: str) -> None:
        self._pipe = pipe
        self.address = address

    async def ask(self, event: dict[str, Any]) -> list[bytes]:
        self._pipe.send(event)
        chunks: list[bytes] = await asyncio.to_thread(self._pipe.recv)
        return chunks


@asynccontextmanager
async def remote_runtime_api() -> AsyncIterator[RemoteRuntimeApi]:
    """Starts the process; it ends with the block."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield RemoteRuntimeApi(here, await asyncio.to_thread(here.recv))
    finally:
        here.send(None)
        await asyncio.to_thread(process.join)


def _serve(pipe: Connection) -> None:
    asyncio.run(_relay(pipe))


async def _relay(pipe: Connection) -> None:
    api = RuntimeApi()
    await api.start()
    pipe.send(api.address)
    while (event := await asyncio.to_thread(pipe.recv)) is not None:
        pipe.send([chunk async for chunk in api.invoke(event).chunks()])
    await api.close()
