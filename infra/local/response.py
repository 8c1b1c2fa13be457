"""One posted response on its way from the runtime's connection to the invocation's reader: prelude, body, trailers, bandwidth."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from infra.local.http1 import Head, read_body, read_chunks, read_trailers
from infra.local.invocation import PRELUDE_LIMIT, SEPARATOR, FunctionError, InvalidPrelude, Invocation, Prelude, parse_prelude

TRAILER_LIMIT = 4096
"""All trailer lines and the final CRLF, in bytes; Go's `net/http` limit, which AWS's RAPID inherits."""
HTTP_INTEGRATION = "application/vnd.awslambda.http-integration-response"
ERROR_TYPE = "lambda-runtime-function-error-type"
_ERROR_PATTERN = re.compile(r"(Runtime|Function)\.[A-Z][a-zA-Z]+")


def valid_error_type(given: str) -> str:
    """The type itself if it is of AWS's pattern, else `Runtime.Unknown`, as RAPID reports it."""
    return given if _ERROR_PATTERN.fullmatch(given) else "Runtime.Unknown"


class Refused(Exception):
    """A call that is answered by an error of the API's own."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"errorType": error_type, "errorMessage": message}


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Lambda's limit on a stream: `burst` bytes at once, then `rate` bytes a second."""

    rate: float = 2 * 1024 * 1024
    burst: float = 6 * 1024 * 1024


@dataclass(slots=True)
class Meter:
    """A token bucket: says how long to wait before the next bytes may pass."""

    limit: Bandwidth
    tokens: float = field(init=False)
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens, self.at = self.limit.burst, time.monotonic()

    def take(self, size: int) -> float:
        """Seconds to wait after `size` bytes."""
        now = time.monotonic()
        self.tokens = min(self.limit.burst, self.tokens + (now - self.at) * self.limit.rate) - size
        self.at = now
        return max(0.0, -self.tokens / self.limit.rate)


class Sink:
    """Splits a posted body into the prelude and what follows; without the HTTP content type all of it is the body (status 200)."""

    def __init__(self, invocation: Invocation, head: Head) -> None:
        self._invocation = invocation
        self._pending = b""
        content_type = head.headers.get("content-type", "application/octet-stream")
        if content_type != HTTP_INTEGRATION:
            invocation.begin(Prelude(200, {"content-type": content_type}, []))

    async def put(self, data: bytes) -> None:
        if not self._invocation.begun:
            self._pending += data
            end = self._pending.find(SEPARATOR)
            if end + len(SEPARATOR) > PRELUDE_LIMIT or (end < 0 and len(self._pending) > PRELUDE_LIMIT):
                raise self._bad(InvalidPrelude(f"the prelude is over {PRELUDE_LIMIT} bytes"))
            if end < 0:
                return
            self._begin(self._pending[:end])
            data = self._pending[end + len(SEPARATOR) :]
        if data:
            await self._invocation.feed(data)

    def close(self, trailers: dict[str, str]) -> None:
        if not self._invocation.begun:
            raise self._bad(InvalidPrelude("the response has no prelude"))
        self._invocation.finish(trailers)

    def _begin(self, prelude: bytes) -> None:
        try:
            self._invocation.begin(parse_prelude(prelude))
        except InvalidPrelude as exc:
            raise self._bad(exc) from exc

    def _bad(self, exc: InvalidPrelude) -> Refused:
        # what RAPID answers here is not documented; the caller's side (a 502) is
        self._invocation.fail(FunctionError("Runtime.InvalidResponse", str(exc)))
        return Refused(400, "InvalidResponse", str(exc))


@dataclass(frozen=True, slots=True)
class Relay:
    """Moves one post. `received` is called after each piece with the count so far."""

    invocation: Invocation
    head: Head
    reader: asyncio.StreamReader
    received: Callable[[Invocation, int], Awaitable[None]]
    bandwidth: Bandwidth | None

    async def run(self) -> None:
        """Reads the post to its end. Raises `Refused`, `TrailerTooLong`, `IncompleteReadError` (truncated) or `OSError` (reset)."""
        sink = Sink(self.invocation, self.head)
        if not self.head.chunked:
            await sink.put(await read_body(self.reader, self.head))
            sink.close({})
            return
        await self._stream(sink)
        trailers = await read_trailers(self.reader, TRAILER_LIMIT)
        if ERROR_TYPE in trailers:
            trailers[ERROR_TYPE] = valid_error_type(trailers[ERROR_TYPE])
        sink.close(trailers)

    async def _stream(self, sink: Sink) -> None:
        meter = Meter(self.bandwidth) if self.bandwidth else None
        pieces = 0
        async for piece in read_chunks(self.reader):
            await sink.put(piece)
            pieces += 1
            await self.received(self.invocation, pieces)
            if meter and (wait := meter.take(len(piece))):
                await asyncio.sleep(wait)
