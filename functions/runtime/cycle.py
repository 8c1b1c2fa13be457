"""One ASGI request and its response: the app's messages become a prelude and chunks of one upload."""

from __future__ import annotations

import asyncio
import enum
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Protocol

from mangum.types import ASGI, Message, Receive, Scope, Send

from functions.runtime.failure import Failure

logger = logging.getLogger(__name__)

PRELUDE_LIMIT = 16 * 1024
"""The prelude and its separator, in bytes: API Gateway's limit, which a function URL shares."""
SEPARATOR = b"\0" * 8
SENTINEL = b"\n"
"""Body of a response that has none: a function URL hangs until its timeout when no byte follows the prelude."""
BODILESS = frozenset({204, 304})
OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive"})
"""Headers that belong to a connection of Lambda's own; a length would be wrong as soon as a sentinel is added."""


class Sink(Protocol):
    """Where a cycle writes to, one response long (`functions.runtime.upload.Upload`)."""

    async def write(self, *parts: bytes) -> None: ...

    async def end(self, trailers: Mapping[str, str] | None = None) -> None: ...


class Kept:
    """An answer that goes nowhere."""

    def __init__(self) -> None:
        self._data = b""
        self._trailers: Mapping[str, str] = {}

    async def write(self, *parts: bytes) -> None:
        self._data += b"".join(parts)

    async def end(self, trailers: Mapping[str, str] | None = None) -> None:
        self._trailers = trailers or {}

    @property
    def failed(self) -> bool:
        """A 5xx, or an app that gave up in the midst of its answer."""
        head = json.loads(self._data.partition(SEPARATOR)[0] or b"{}")
        return bool(self._trailers) or head.get("statusCode", 500) >= 500


class CycleState(enum.Enum):
    """The state of one request.

    * **REQUEST** - the app has not answered yet.
    * **RESPONSE** - the app has sent its status and headers; they are held back until the first byte of the body or its end.
    * **COMPLETE** - the last byte is sent; the app may still work, it cannot send any more.
    * **GONE** - Lambda takes no more bytes: each send raises `OSError`, as ASGI says a server does once the client has left.
    """

    REQUEST = enum.auto()
    RESPONSE = enum.auto()
    COMPLETE = enum.auto()
    GONE = enum.auto()


class UnexpectedMessage(Exception):
    """The app sent a message that its state does not allow."""


class IncompleteResponse(Exception):
    """The app returned without `more_body=False`."""


def encode_prelude(status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Status and raw headers → JSON and eight NULs. Cookies get a list of their own, other repeated headers are joined by a comma.

    Raises `ValueError` over 16 KB.
    """
    fields: dict[str, str] = {}
    cookies: list[str] = []
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name == "set-cookie":
            cookies.append(value)
        elif name not in OWN_HEADERS:
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
    data = json.dumps({"statusCode": status, "headers": fields, "cookies": cookies}).encode() + SEPARATOR
    if len(data) > PRELUDE_LIMIT:
        raise ValueError(f"status and headers take {len(data)} bytes, Lambda allows {PRELUDE_LIMIT}")
    return data


def problem(status: int, code: str, message: str) -> ASGI:
    """An app that answers every request with one error: `{"error": {"code", "message"}}`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = json.dumps({"error": {"code": code, "message": message}}).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})

    return app


class Cycle:
    """One request. All of an invocation's state is here, so that several may run in one loop."""

    def __init__(self, scope: Scope, body: bytes, sink: Sink) -> None:
        self.state = CycleState.REQUEST
        self._scope = scope
        self._request: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._sink = sink
        self._over = asyncio.Event()
        self._prelude = b""
        self._begun = False
        self._drops_body = False
        self._needs_byte = False

    async def run(self, app: ASGI) -> None:
        """Runs the app until it returns, background work included, and ends its response if it did not. Raises nothing of the app's."""
        # a task of its own: context variables set by one request are not seen by the next
        task = asyncio.create_task(self._call(app))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        try:
            await self._conclude(_outcome(task))
        except OSError as exc:
            logger.warning("the response could not be ended: %s", exc)
        finally:
            self._over.set()

    async def receive(self) -> Message:
        """The whole body once; then nothing until the response is over. An earlier disconnect would make Starlette cut its stream."""
        if self._request is not None:
            message, self._request = self._request, None
            return message
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """One ASGI message. Raises `UnexpectedMessage` out of order, `OSError` once Lambda takes no more."""
        if self.state is CycleState.GONE:
            raise ConnectionResetError("Lambda takes no more of this response")
        if message["type"] == "http.response.start" and self.state is CycleState.REQUEST:
            self._start(int(message["status"]), message.get("headers", ()))
        elif message["type"] == "http.response.body" and self.state is CycleState.RESPONSE:
            await self._body(message.get("body", b""), more=message.get("more_body", False))
        else:
            raise UnexpectedMessage(f"{message['type']!r} while the cycle is in {self.state.name}")

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._prelude = encode_prelude(status, headers)
        self._drops_body = status in BODILESS or self._scope["method"] == "HEAD"
        self._needs_byte = status not in BODILESS
        self.state = CycleState.RESPONSE

    async def _body(self, data: bytes, *, more: bool) -> None:
        if self._drops_body:
            data = b""
        if self._needs_byte and not more:
            data = data or SENTINEL
        if not more:
            self.state = CycleState.COMPLETE
        try:
            if data or not more:
                await self._write(data)
            if not more:
                await self._sink.end()
        except OSError:
            self.state = CycleState.GONE
            raise
        finally:
            if self.state is not CycleState.RESPONSE:
                self._over.set()

    async def _write(self, data: bytes) -> None:
        parts = [part for part in (self._prelude, data) if part]
        self._prelude = b""
        self._begun = True
        if data:
            self._needs_byte = False
        if parts:
            await self._sink.write(*parts)

    async def _call(self, app: ASGI) -> None:
        await app(self._scope, self.receive, self.send)

    async def _conclude(self, error: BaseException | None) -> None:
        """What is left to do after the app: say its error, in the way the state still allows."""
        if self.state is CycleState.GONE:
            logger.info("the response was cut off: %r", error)
            return
        if error is not None:
            logger.error("the app failed in %s", self.state.name, exc_info=error)
        if self.state is CycleState.COMPLETE:
            return
        error = error or IncompleteResponse("the app returned without ending its response")
        if self._begun:
            await self._sink.end(Failure.of(error).as_trailers())
            return
        self.state = CycleState.REQUEST
        await problem(500, "INTERNAL_ERROR", "Internal server error")(self._scope, self.receive, self.send)


def _outcome(task: asyncio.Task[None]) -> BaseException | None:
    return asyncio.CancelledError("the app cancelled its own task") if task.cancelled() else task.exception()
