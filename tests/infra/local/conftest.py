"""Workers and HTTP without the whole command: a pool of small functions, and the front on a real port."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from infra.local.cors import Cors
from infra.local.front import Front, Site
from infra.local.listener import bind
from infra.local.output import Console
from infra.local.pool import Limits, Pool
from infra.local.server import make_server
from infra.local.variables import FunctionVariables, bare, user_variables

APP = "tests.infra.local.apps.app"


@dataclass
class Workers:
    """Makes pools of `_HANDLER` functions. `said` is what the console was told."""

    said: list[str] = field(default_factory=list)

    def pool(self, limits: Limits, *, handler: str = APP, **variables: str) -> Pool:
        user = user_variables() | {"_HANDLER": handler} | variables
        base = bare(user)
        functions: Callable[[str], Mapping[str, str]] = FunctionVariables(user, base, "127.0.0.1:1", {})
        # without the heavy libraries: what is tested is the pool, and a worker is there in a third of a second
        return Pool(functions, bare=base, console=Console(write=self.said.append), limits=limits, preload=())

    @asynccontextmanager
    async def front(self, pool: Pool, *agents: str, page: Path = Path("/nowhere")) -> AsyncIterator[httpx.AsyncClient]:
        """The front before `pool`, on a free port → a client of it."""
        site = Site({name: {"name": name, "url": f"agents/{name}/"} for name in agents}, page, Cors())
        listener = bind("127.0.0.1", 0)
        server = make_server(Front(pool, site, Console(write=self.said.append)))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with AsyncExitStack() as stack:
            yield await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=30))
        server.should_exit = True
        await serving


async def eventually(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Returns once `holds()`. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.02)


async def kill(pid: int) -> None:
    """SIGKILL of a child, and the wait until its exit code was taken: before that a thread of it may still hold its sockets open."""
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not exists(pid))


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Of anybody's process. A zombie is not: in a container nobody may be there to take an orphan's exit code."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return exists(pid)
    return not stat.rpartition(")")[2].startswith(" Z")


def waited(holds: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether `holds()` within the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def workers() -> Workers:
    return Workers()
