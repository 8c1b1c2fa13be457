"""A child process that never outlives us: a session of its own, a leash on its stdin, its output line by line."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""Where `infra`, `functions` and `graphs` are imported from."""
LINE_LIMIT = 1024 * 1024
"""Longest line of a child's output, in bytes; a longer one is cut."""

Output = Callable[[str, str], None]
"""Gets ("stdout" or "stderr", one line without its end)."""


class Process:
    """One child. `exited` is set when it is gone; closing its stdin (`stop`) makes it end itself and its group."""

    def __init__(self, child: asyncio.subprocess.Process, output: Output) -> None:
        self._child = child
        self.exited = asyncio.Event()
        self._tasks = [asyncio.create_task(self._read(name, output)) for name in ("stdout", "stderr")]
        self._tasks.append(asyncio.create_task(self._wait()))

    @classmethod
    async def start(cls, module: str, *arguments: str, env: Mapping[str, str], output: Output) -> Process:
        """`python -m module arguments` with exactly this environment. Raises `OSError` if it cannot be started."""
        child = await asyncio.create_subprocess_exec(
            # never "python": the interpreter of this virtual environment, wherever it is
            sys.executable,
            "-m",
            module,
            *arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=_importing(env),
            limit=LINE_LIMIT,
            **_own_group(),
        )
        return cls(child, output)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        return self._child.returncode

    async def write_line(self, line: str) -> None:
        """One line to its stdin. Raises `ConnectionError` if it is gone."""
        assert self._child.stdin is not None
        self._child.stdin.write(line.encode() + b"\n")
        await self._child.stdin.drain()

    async def stop(self, seconds: float = 2.0) -> None:
        """Lets go of the leash, waits for the exit, and kills what did not let itself be ended."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        except TimeoutError:
            self._kill()
        await asyncio.gather(*self._tasks)

    def _kill(self) -> None:
        if self._child.returncode is not None:
            return
        if sys.platform == "win32":
            self._child.kill()
        else:
            os.killpg(self._child.pid, signal.SIGKILL)

    async def _wait(self) -> None:
        await self._child.wait()
        self.exited.set()

    async def _read(self, name: str, output: Output) -> None:
        stream: asyncio.StreamReader = getattr(self._child, name)
        while True:
            try:
                line = await stream.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                if not line:
                    return
            except asyncio.LimitOverrunError as over:
                line = await stream.read(over.consumed)
            output(name, line.decode(errors="replace").rstrip("\r\n"))


def _importing(env: Mapping[str, str]) -> dict[str, str]:
    """Our packages are imported from `ROOT`, and nothing from the working folder: a `queue.py` there would take the library's place."""
    path = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    return {**env, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def _own_group() -> dict[str, Any]:
    """Arguments that keep Ctrl-C in our terminal away from the child: we end it, after its work is put away."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}
