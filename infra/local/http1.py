"""The little of HTTP/1.1 a server of the Runtime API needs, on asyncio streams: a request head, a body, chunks with trailers, an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

PIECE = 64 * 1024
"""Largest piece a chunk is handed on in, in bytes: bounds what one read holds in memory."""


class TrailerTooLong(Exception):
    """The trailer block is over its limit. Go's `net/http`, which AWS runs, panics on it and resets the connection."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request line and its headers; names in lower case, repeated ones joined by a comma."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next request's head; None if the peer closed before it."""
    try:
        block = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = block[:-4].decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    return Head(method, target, parse_fields(lines))


def parse_fields(lines: list[str]) -> dict[str, str]:
    """Header or trailer lines → lower-case name → value."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key, text = name.strip().lower(), value.strip()
        fields[key] = f"{fields[key]}, {text}" if key in fields else text
    return fields


async def read_chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The data of a chunked body, chunk by chunk (a large one in pieces), up to and without its trailers.

    Raises `asyncio.IncompleteReadError` if the connection ends first.
    """
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        while size > 0:
            piece = await reader.readexactly(min(size, PIECE))
            size -= len(piece)
            yield piece
        await reader.readexactly(2)


async def read_trailers(reader: asyncio.StreamReader, limit: int) -> dict[str, str]:
    """The trailer block after the last chunk. Raises `TrailerTooLong` if all its lines and the final CRLF exceed `limit` bytes."""
    lines: list[str] = []
    total = 0
    while True:
        line = await reader.readuntil(b"\r\n")
        total += len(line)
        if total > limit:
            raise TrailerTooLong(f"trailer block over {limit} bytes")
        if line == b"\r\n":
            return parse_fields(lines)
        lines.append(line[:-2].decode("latin-1"))


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes:
    """A whole body, by `Content-Length` or chunked."""
    if not head.chunked:
        return await reader.readexactly(int(head.headers.get("content-length", "0")))
    data = b"".join([piece async for piece in read_chunks(reader)])
    await read_trailers(reader, PIECE)
    return data


async def write_answer(
    writer: asyncio.StreamWriter, status: int, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    """One answer with `Content-Length`; a mapping is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data)
    await writer.drain()


async def linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float = 0.5) -> None:
    """Half-closes and reads what the peer still sends: a close with unread bytes would reset the answer away before it is read."""
    if writer.can_write_eof() and not writer.transport.is_closing():
        writer.write_eof()
    try:
        async with asyncio.timeout(seconds):
            while await reader.read(PIECE):
                pass
    except (TimeoutError, ConnectionError):
        return
