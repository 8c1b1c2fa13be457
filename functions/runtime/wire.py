"""The little of HTTP/1.1 a client of the Runtime API needs: a request head out, an answer in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

READ_LIMIT = 1024 * 1024
"""How far the socket is read ahead, in bytes: an event of 6 MB takes few wake-ups."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (names in lower case) and the whole body."""

    status: int
    headers: dict[str, str]
    body: bytes


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to `host:port` that sends each write at once."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=READ_LIMIT)
    # asyncio sets it by itself today; without it a token waits for the acknowledgement of the one before (40 ms)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reader, writer


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Closes a connection and waits until it is: no socket is left to the garbage collector."""
    writer.close()
    # the peer may have dropped the line first, which is what we want anyway
    with suppress(OSError):
        await writer.wait_closed()


def request_head(method: str, path: str, address: str, headers: Mapping[str, str]) -> bytes:
    """A request line and its headers, asking to close the connection afterwards."""
    fields = {"Host": address, "Connection": "close", "User-Agent": "agent-functions-runtime", **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """One answer. Raises `ConnectionError` if the peer closes before its end."""
    try:
        block = await reader.readuntil(b"\r\n\r\n")
        first, *lines = block[:-4].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Answer(int(first.split(" ", 2)[1]), headers, await _read_body(reader, headers))
    except asyncio.IncompleteReadError as exc:
        raise ConnectionResetError("the Runtime API closed the connection without an answer") from exc


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    return await reader.read()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        data += await reader.readexactly(size)
        await reader.readexactly(2)
    return bytes(data)
