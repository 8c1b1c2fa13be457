"""AWS's Runtime Interface Emulator: the Runtime API of AWS's own make, as a second opinion beside our fake.

The binary comes inside the wheel of `aws-sam-cli`, whose pins clash with ours: it is fetched once into `.cache/` and never imported.
It buffers (the answer comes back whole, prelude and NULs included), but it checks posts, trailers and the order of calls.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

WHEEL = "aws-sam-cli==1.170.0"
REPO = Path(__file__).parents[2]
CACHE = REPO / ".cache" / "aws-sam-cli"
AVAILABLE = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
"""The binaries are for Linux only."""


def binary() -> Path:
    """The emulator, fetched on first use."""
    name = {"x86_64": "aws-lambda-rie-x86_64", "aarch64": "aws-lambda-rie-arm64"}[platform.machine()]
    path = CACHE / "samcli" / "local" / "rapid" / name
    if not path.exists():
        _fetch()
    path.chmod(0o755)
    return path


def _fetch() -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    installer = [uv, "pip", "install", "-q"] if uv else [sys.executable, "-m", "pip", "install", "-q"]
    subprocess.run([*installer, "--no-deps", "--target", str(CACHE), WHEEL], check=True)


def free_port() -> int:
    """A port that was free a moment ago: the emulator takes no 0."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


class Rie:
    """A running emulator; `invoke` is what the Lambda Invoke API would answer."""

    def __init__(self, port: int, log: Path) -> None:
        self._port = port
        self._log = log

    @property
    def log(self) -> str:
        """What the emulator and the runtime have written so far."""
        return self._log.read_text()

    async def invoke(self, payload: bytes) -> tuple[int, bytes]:
        """One event → status and body. Waits for the emulator to come up."""
        async with asyncio.timeout(30):
            reader, writer = await self._connect()
            headers = f"Host: x\r\nContent-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
            writer.write(f"POST /2015-03-31/functions/function/invocations HTTP/1.1\r\n{headers}".encode() + payload)
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            await writer.wait_closed()
        return int(head.split()[1]), _joined(body) if b"transfer-encoding: chunked" in head.lower() else body

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while True:
            try:
                return await asyncio.open_connection("127.0.0.1", self._port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)


def _joined(chunks: bytes) -> bytes:
    """A chunked body as one: the emulator answers so from two kilobytes on."""
    whole = b""
    while size := int((head := chunks.partition(b"\r\n")[0]) or b"0", 16):
        start = len(head) + 2
        whole, chunks = whole + chunks[start : start + size], chunks[start + size + 2 :]
    return whole


@asynccontextmanager
async def emulator(bootstrap: Path, folder: Path, env: Mapping[str, str]) -> AsyncIterator[Rie]:
    """Runs the emulator with `bootstrap` (an absolute path to an executable) as the runtime; its log is kept in `folder`."""
    program = await asyncio.to_thread(binary)
    port, api_port = free_port(), free_port()
    with (folder / "rie.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program,
            *("--log-level", "info"),
            *("--runtime-interface-emulator-address", f"127.0.0.1:{port}"),
            *("--runtime-api-address", f"127.0.0.1:{api_port}"),
            bootstrap,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **env},
            start_new_session=True,
        )
        try:
            yield Rie(port, folder / "rie.log")
        finally:
            # it does not always heed SIGTERM, and the runtime is its child: the whole session goes
            os.killpg(process.pid, 9)
            await process.wait()
