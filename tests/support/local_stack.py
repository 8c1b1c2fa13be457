"""The real `agents dev` as a process of its own, for the end-to-end tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
STARTS_WITHIN = 90.0  # seconds; six workers importing at once on two idle cores take nine
STOPS_WITHIN = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class Stack:
    """One running `agents dev`. `url` has no slash at its end; `log` is what it printed."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def agent(self, name: str) -> str:
        """The function URL of an agent."""
        return f"{self.url}/agents/{name}/"

    def wait_until_up(self) -> None:
        """Returns when the page's config is served. Raises RuntimeError, with what was printed, if that does not happen."""
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            if self._answers():
                return
            time.sleep(0.1)
        raise RuntimeError(f"agents dev is not up (exit status {self.process.poll()}):\n{self.printed()}")

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/config.json", timeout=2, trust_env=False).is_success
        except httpx.TransportError:
            return False

    def printed(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def stop(self) -> int:
        """Ctrl-C, as a user would. Returns the exit status; raises `subprocess.TimeoutExpired` if it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOPS_WITHIN)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_stack(folder: Path, *arguments: str, **environment: str) -> Iterator[Stack]:
    """`agents dev` on a free port with `arguments`; its data, its log and its working folder are `folder`."""
    port = free_port()
    command = [sys.executable, "-m", "infra.cli", "dev", "--port", str(port), *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "AGENTS_DATA_DIR": str(folder), "AGENTS_OFFLINE_DELAY_MS": "1", **environment}
    log = folder / f"agents-dev-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    stack = Stack(f"http://127.0.0.1:{port}", process, log)
    try:
        stack.wait_until_up()
        yield stack
        stack.stop()
    finally:
        process.kill()
        process.wait()
