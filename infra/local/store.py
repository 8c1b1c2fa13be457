"""DynamoDB and S3 on this machine: how a client reaches them, and the start of `store_process`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.local.process import Output, Process

BUCKET = "agents-local"
REGION = "us-east-1"
"""Where the store keeps everything, whatever region a client signs for: or the data would be gone after a change of `AWS_REGION`."""


class StoreFailed(Exception):
    """The store did not start; the message says why."""


def endpoints(address: str) -> dict[str, str]:
    """The environment that sends clients of DynamoDB and S3, and of no other service, to the store at `address`.

    https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
    """
    url = f"http://{address}"
    return {"AWS_ENDPOINT_URL_DYNAMODB": url, "AWS_ENDPOINT_URL_S3": url, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"}


KEYS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""For the store, which takes any; on AWS they open nothing."""


def credentials() -> dict[str, str]:
    """All that a client of the store, and of nothing on AWS, needs."""
    return {
        **KEYS,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


class Store:
    """The running store. `address` is host:port; `records` is how many writes it read back from its folder."""

    def __init__(self, process: Process, address: str, records: int) -> None:
        self.process = process
        self.address = address
        self.records = records

    @classmethod
    async def start(cls, folder: Path | None, *, table_prefix: str, env: Mapping[str, str], output: Output) -> Store:
        """Waits until it answers and has its tables. `folder` None keeps nothing. Raises `StoreFailed`."""
        ready: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        def hear(name: str, line: str) -> None:
            if name == "stdout" and not ready.done():
                ready.set_result(json.loads(line))
            else:
                output(name, line)

        process = await Process.start("infra.local.store_process", str(folder or ""), table_prefix, env=env, output=hear)
        try:
            said = await _first_line(ready, process)
        except asyncio.CancelledError:
            await process.stop()
            raise
        if "error" in said:
            await process.stop()
            raise StoreFailed(said["error"])
        return cls(process, said["address"], int(said["records"]))

    async def stop(self) -> None:
        await self.process.stop()


async def _first_line(ready: asyncio.Future[dict[str, str]], process: Process) -> dict[str, str]:
    """What the process says first; an error of ours if it ends without a word."""
    exited = asyncio.create_task(process.exited.wait())
    waited: set[asyncio.Future[Any]] = {ready, exited}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    finally:
        exited.cancel()
    return ready.result() if ready.done() else {"error": f"it ended with code {process.returncode}"}
