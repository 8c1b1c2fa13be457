"""One invocation as the caller sees it: the event that goes in, the prelude, the chunks and the trailers that come out."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

PRELUDE_LIMIT = 16 * 1024
"""The prelude and its eight NULs fit in this many bytes (API Gateway's rule for Lambda response streaming)."""
BUFFERED_BYTES = 256 * 1024
"""How far the runtime may be ahead of the reader, in bytes, before its writes wait."""
SEPARATOR = b"\0" * 8


class FunctionError(Exception):
    """The function failed before it answered: it posted an error, timed out or died. `payload` is the posted JSON, if any."""

    def __init__(self, error_type: str, message: str, payload: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{error_type}: {message}")
        self.error_type = error_type
        self.message = message
        self.payload = payload or {}


class TruncatedResponse(Exception):
    """The response had begun, but ended without its last chunk."""


class InvalidPrelude(Exception):
    """The bytes before the eight NULs are no prelude: over 16 KB, not JSON, or of the wrong shape."""


@dataclass(frozen=True, slots=True)
class Prelude:
    """The head of an HTTP answer: status, headers (lower-case names), cookies as `Set-Cookie` values."""

    status: int
    headers: dict[str, str]
    cookies: list[str]


def parse_prelude(data: bytes) -> Prelude:
    """`{"statusCode", "headers", "cookies"}` → Prelude, every part optional as in Lambda. Raises `InvalidPrelude`."""
    try:
        head = json.loads(data)
        headers = {str(name).lower(): str(value) for name, value in (head.get("headers") or {}).items()}
        return Prelude(int(head.get("statusCode", 200)), headers, [str(cookie) for cookie in head.get("cookies") or []])
    except (ValueError, AttributeError, TypeError) as exc:
        raise InvalidPrelude(f"not a prelude: {exc}") from exc


class Pipe:
    """Bytes from one writer to one reader; `write` waits while more than `limit` bytes are unread."""

    def __init__(self, limit: int) -> None:
        self._parts: deque[bytes] = deque()
        self._limit = limit
        self._size = 0
        self._closed = False
        self._discards = False
        self._changed = asyncio.Event()

    async def write(self, data: bytes) -> None:
        if self._discards or self._closed:
            return
        self._parts.append(data)
        self._size += len(data)
        self._notify()
        while self._size > self._limit and not self._closed:
            await self._wait()

    def close(self) -> None:
        """No more bytes will come; what is unread can still be read."""
        self._closed = True
        self._notify()

    def discard(self) -> None:
        """Nobody reads any more: drop what is there and all that comes."""
        self._discards = True
        self._parts.clear()
        self._size = 0
        self._notify()

    async def read(self) -> bytes:
        """The next part as it was written; b"" at the end."""
        while not self._parts:
            if self._closed:
                return b""
            await self._wait()
        part = self._parts.popleft()
        self._size -= len(part)
        self._notify()
        return part

    def _notify(self) -> None:
        # a new event each time: reader and writer may both be waiting, and neither may swallow the other's wake-up
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _wait(self) -> None:
        await self._changed.wait()


class Invocation:
    """One event on its way through one environment. The caller reads `prelude`, then `chunks`, then `trailers`."""

    def __init__(self, event: Any, *, timeout_ms: int = 900_000) -> None:
        self.request_id = str(uuid.uuid4())
        self.invocation_id = uuid.uuid4().hex
        self.payload = json.dumps(event).encode()
        self.timeout_ms = timeout_ms
        self.taken = asyncio.Event()
        self.finished = asyncio.Event()
        self.expired = False
        self.headers: dict[str, str] = {}
        """Headers of the runtime's post, names in lower case."""
        self.trailers: dict[str, str] | None = None
        self._prelude: Prelude | None = None
        self._failure: Exception | None = None
        self._begun = asyncio.Event()
        self._pipe = Pipe(BUFFERED_BYTES)

    # -- the caller's side

    async def prelude(self) -> Prelude:
        """Waits for the answer's head. Raises `FunctionError` if the function failed before it."""
        await self._begun.wait()
        if self._prelude is not None:
            return self._prelude
        assert self._failure is not None
        raise self._failure

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises `TruncatedResponse` if it ended early. Leaving the loop discards the rest."""
        await self.prelude()
        try:
            while part := await self._pipe.read():
                yield part
        finally:
            self.discard()
        if self._failure is not None:
            raise TruncatedResponse(str(self._failure)) from self._failure

    def discard(self) -> None:
        """The client left. The function is not told (as on AWS): what it still writes is dropped and never blocks it."""
        self._pipe.discard()

    def fail(self, exc: Exception) -> None:
        """Ends the invocation from outside: the worker died, the deadline passed. Before the prelude `exc` is what `prelude` raises."""
        if self.finished.is_set():
            return
        self._failure = exc if isinstance(exc, FunctionError) or self._prelude else FunctionError("Runtime.ExitError", str(exc))
        self._end()

    # -- the Runtime API's side

    def begin(self, prelude: Prelude) -> None:
        self._prelude = prelude
        self._begun.set()

    @property
    def begun(self) -> bool:
        return self._prelude is not None

    async def feed(self, data: bytes) -> None:
        """One piece of the body; waits while the reader is far behind."""
        await self._pipe.write(data)

    def finish(self, trailers: dict[str, str]) -> None:
        if not self.finished.is_set():
            self.trailers = trailers
            self._end()

    def _end(self) -> None:
        self._begun.set()
        self._pipe.close()
        self.finished.set()
