"""What the savers talk to, in a process of its own: an emulator that stores, and a server that answers after a fixed time.

The emulator says what a run costs. For how long it takes, it is no measure: it does one call at a time and is slower than DynamoDB. The
other server takes any number of calls at once and answers each after the same time, as DynamoDB does, and stores next to nothing.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

REGION = "us-east-1"


@contextmanager
def emulator() -> Iterator[str]:
    """Address of a moto server."""
    with _process(_moto) as endpoint:
        yield endpoint


@contextmanager
def answering_after(seconds: float) -> Iterator[str]:
    """Address of a server that takes every write and answers after so many seconds."""
    with _process(_slow, seconds) as endpoint:
        yield endpoint


@contextmanager
def _process(serve: Callable[..., None], *arguments: Any) -> Iterator[str]:
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_EC2_METADATA_DISABLED": "true"}
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(there, *arguments), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


def _moto(pipe: Connection) -> None:
    from tests.support.moto_server import moto_server

    with moto_server() as endpoint:
        pipe.send(endpoint)
        pipe.recv()


def _slow(pipe: Connection, seconds: float) -> None:
    asyncio.run(_serve(pipe, seconds))


async def _serve(pipe: Connection, seconds: float) -> None:
    tables = Slow()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                began = asyncio.get_running_loop().time()
                request = json.loads(await reader.readexactly(_length(head)))
                body = json.dumps(tables.answer(_operation(head), request)).encode()
                await asyncio.sleep(seconds - (asyncio.get_running_loop().time() - began))
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: %d\r\n\r\n" % len(body) + body
                )
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**20)
    pipe.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await asyncio.to_thread(pipe.recv)
    server.close()


class Slow:
    """As much of a table as a run on a new thread reads of it: the newest checkpoint of ours, and a lease that is always free."""

    def __init__(self) -> None:
        self._newest: dict[str, Any] = {}

    def answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "PutItem" and "pk" in request["Item"]:
            self._newest[request["Item"]["pk"]["S"]] = request["Item"]
        if operation == "Query":
            values = request["ExpressionAttributeValues"]
            found = self._newest.get(values.get(":pk", {}).get("S")) if "Limit" in request else None
            return {"Items": [found], "Count": 1} if found else {"Items": [], "Count": 0}
        if request.get("ReturnValues") == "ALL_NEW":
            values = request["ExpressionAttributeValues"]
            return {"Attributes": request["Key"] | {name: values[value] for name, value in _SETS.findall(request["UpdateExpression"])}}
        return {}


_SETS = re.compile(r"(\w+) = (?:if_not_exists\(\w+, )?(:\w+)")


def _operation(head: bytes) -> str:
    return _header(head, "x-amz-target").rpartition(".")[2]


def _length(head: bytes) -> int:
    return int(_header(head, "content-length"))


def _header(head: bytes, name: str) -> str:
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n"))
    return next(value.strip() for key, _, value in lines if key.lower() == name)
