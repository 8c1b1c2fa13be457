"""Clones of a process that is warm, up to `restore/next` (`clone_main`): what SnapStart makes of a snapshot, one at a time. Linux only."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.runtime_api import RuntimeApi
from tests.support.lambda_place import variables

AVAILABLE = sys.platform == "linux"
MAIN = Path(__file__).with_name("clone_main.py")


@dataclass(slots=True)
class Clone:
    """A restored clone, through its own Runtime API. `cpu_ms`: what it has used in its life, once that is over."""

    api: RuntimeApi
    cpu_ms: float = 0.0


class Warmed:
    """A process at its snapshot. `snapshot`: its threads, its internet sockets and its memory in MB there."""

    def __init__(self, process: Process, snapshot: Mapping[str, int]) -> None:
        self._process = process
        self.snapshot = snapshot

    @asynccontextmanager
    async def clone(self) -> AsyncIterator[Clone]:
        """Restored once the block begins, killed at its end; the snapshot stays as it was."""
        api = RuntimeApi()
        await api.start()
        api.restore()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"address": api.address}).encode() + b"\n")
        said, clone = await _line(self._process), Clone(api)
        try:
            yield clone
        finally:
            os.kill(said["pid"], signal.SIGKILL)
            clone.cpu_ms = (await _line(self._process))["cpu_ms"]
            await api.close()


@asynccontextmanager
async def warmed(bundle: Path, python: str, config: Mapping[str, str], log: Path, *, shared: bool = False) -> AsyncIterator[Warmed]:
    """`shared` leaves the clones' random numbers as they were in the snapshot."""
    env = variables(str(bundle), "127.0.0.1:9", config, snap_start=True) | {"PYTHONPATH": str(bundle)}
    words = [python, "-P", str(MAIN), *(["--shared"] if shared else [])]
    with log.open("wb") as err:
        process = await asyncio.create_subprocess_exec(*words, cwd=bundle, env=env, stdin=PIPE, stdout=PIPE, stderr=err)
    try:
        yield Warmed(process, await _line(process))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 30)


async def _line(process: Process) -> dict[str, Any]:
    """What the process says next, without the lines for the log and for CloudWatch. Raises `CalledProcessError` if it ends instead."""
    assert process.stdout is not None
    while line := await process.stdout.readline():
        said: dict[str, Any] = json.loads(line)
        if not said.keys() & {"level", "_aws"}:
            return said
    raise subprocess.CalledProcessError(await process.wait(), str(MAIN))
