"""The server side of Lambda's Runtime API: one port is one Lambda environment.

Behaves as AWS's does where the documentation or its Runtime Interface Emulator show it: the order of calls (403), unknown ids (400),
response modes (400), the trailer block of at most 4,096 bytes (over it: connection reset, environment dead), 410 after the deadline,
truncated posts, back-pressure. Docs: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and `runtimes-custom.html`.
"""

from __future__ import annotations

import asyncio
import enum
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from infra.local.http1 import Head, TrailerTooLong, linger, read_body, read_head, write_answer
from infra.local.invocation import FunctionError, Invocation, Prelude, TruncatedResponse
from infra.local.response import Bandwidth, Refused, Relay, valid_error_type

__all__ = ["Bandwidth", "FunctionError", "Invocation", "Prelude", "RuntimeApi", "TruncatedResponse"]

ARN = "arn:aws:lambda:us-east-1:000000000000:function:"
"""Before the function's name: an account and a region that nobody has."""
PREFIX = "/2018-06-01/runtime/"
_ROUTE = re.compile(r"invocation/(?P<id>[^/]+)/(?P<call>response|error)")


class State(enum.Enum):
    """Where the runtime is; each call is legal in some states only.

    * **STARTED** - the process runs its init; `init/error`, `restore/next` or `next` come next.
    * **RESTORING** - SnapStart: it hangs in, or has come out of, `restore/next`.
    * **READY** - it hangs in `next`.
    * **RUNNING** - it has an event; `response` or `error` come next.
    * **RESPONDING** - a response is being posted.
    * **ANSWERED** - the post is done; `next` comes next.
    * **DEAD** - the environment is lost: every call is refused.
    """

    STARTED = enum.auto()
    RESTORING = enum.auto()
    READY = enum.auto()
    RUNNING = enum.auto()
    RESPONDING = enum.auto()
    ANSWERED = enum.auto()
    DEAD = enum.auto()


@dataclass(slots=True)
class Exchange:
    """One HTTP request on one connection."""

    head: Head
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request_id: str = ""

    async def answer(self, status: int, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        await write_answer(self.writer, status, body, headers)


class RuntimeApi:
    """One environment's Runtime API on an ephemeral port of 127.0.0.1.

    `bandwidth` limits every response stream as Lambda does; None does not. `waiting` is set while the runtime hangs in `next`,
    `snapshot_ready` once it hangs in `restore/next` (`restore()` lets it go on), `init_error` and `restore_error` get what it reports.
    """

    def __init__(self, *, function_arn: str = ARN + "local", bandwidth: Bandwidth | None = None) -> None:
        self.address = ""
        self.state = State.STARTED
        self.waiting = asyncio.Event()
        self.snapshot_ready = asyncio.Event()
        self.init_error: asyncio.Future[FunctionError]
        self.restore_error: asyncio.Future[FunctionError]
        self._arn = function_arn
        self._bandwidth = bandwidth
        self._queue: asyncio.Queue[Invocation] = asyncio.Queue()
        self._current: Invocation | None = None
        self._deadline = 0.0
        self._clock: asyncio.TimerHandle | None = None
        self._restored = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._calls: dict[tuple[str, str], Callable[[Exchange], Awaitable[None]]] = {
            ("GET", "invocation/next"): self._next,
            ("POST", "response"): self._response,
            ("POST", "error"): self._error,
            ("POST", "init/error"): self._init_error,
            ("GET", "restore/next"): self._restore_next,
            ("POST", "restore/error"): self._restore_error,
        }

    # -- the caller's side

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self.init_error, self.restore_error = loop.create_future(), loop.create_future()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"

    async def close(self) -> None:
        """Stops listening and drops every connection; what is still running fails as if the environment had died."""
        self._stop_clock()
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        for invocation in self._left():
            invocation.fail(FunctionError("Runtime.ExitError", "the environment was closed"))

    def invoke(self, event: Any, *, timeout_ms: int = 900_000) -> Invocation:
        """Queues an event for the next `next`. The deadline runs from the moment the runtime takes it."""
        invocation = Invocation(event, timeout_ms=timeout_ms)
        self._queue.put_nowait(invocation)
        return invocation

    def restore(self) -> None:
        """SnapStart: lets `restore/next` return, as a clone of the snapshot would see it."""
        self._restored.set()

    # -- hooks for tests that break things

    async def received(self, invocation: Invocation, pieces: int) -> None:
        """Called after each piece of a response; a `ConnectionError` raised here resets the connection."""

    # -- connections

    def _left(self) -> list[Invocation]:
        queued = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return queued if self._current is None else [self._current, *queued]

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None and await self._exchange(head, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            # the runtime is gone, or a fault was injected: a reset is what it shall see
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _exchange(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False if the connection is over."""
        exchange = Exchange(head, reader, writer)
        try:
            await self._route(exchange)(exchange)
        except Refused as refusal:
            await exchange.answer(refusal.status, refusal.body)
            await linger(reader, writer)
            return False
        return not head.closes

    def _route(self, exchange: Exchange) -> Callable[[Exchange], Awaitable[None]]:
        name = exchange.head.target.removeprefix(PREFIX)
        if match := _ROUTE.fullmatch(name):
            exchange.request_id, name = match["id"], match["call"]
        call = self._calls.get((exchange.head.method, name))
        if call is None:
            raise Refused(404, "NotFound", f"no such call: {exchange.head.method} {exchange.head.target}")
        return call

    def _move(self, to: State, *allowed: State) -> None:
        if self.state not in allowed:
            message = f"State transition from {self.state.name} to {to.name} failed for runtime. Error: State transition is not allowed"
            raise Refused(403, "InvalidStateTransition", message)
        self.state = to

    # -- calls

    async def _next(self, exchange: Exchange) -> None:
        if self.state is State.RUNNING and self._current is not None and self._current.expired:
            self.state = State.ANSWERED
        before = self.state
        self._move(State.READY, State.STARTED, State.RESTORING, State.ANSWERED)
        self.waiting.set()
        try:
            invocation = await self._take(exchange.reader)
        finally:
            self.waiting.clear()
        if invocation is None:
            self.state = before
            raise ConnectionResetError("the runtime left while it waited for an event")
        self.state, self._current = State.RUNNING, invocation
        await exchange.answer(200, invocation.payload, self._begin(invocation))

    async def _take(self, reader: asyncio.StreamReader) -> Invocation | None:
        """The next queued event; None if the runtime hangs up first (a dead one must not swallow an event)."""
        taking = asyncio.ensure_future(self._queue.get())
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({taking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return taking.result() if taking.done() else None
        finally:
            taking.cancel()
            leaving.cancel()
            await asyncio.gather(taking, leaving, return_exceptions=True)

    def _begin(self, invocation: Invocation) -> dict[str, str]:
        """Starts the invocation's clock → the headers that go with its event."""
        seconds = invocation.timeout_ms / 1000
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + seconds
        self._stop_clock()
        self._clock = loop.call_at(self._deadline, self._expire, invocation)
        invocation.taken.set()
        return {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Invocation-Id": invocation.invocation_id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + seconds) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self._arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(time.time()):08x}-{invocation.invocation_id[:24]};Sampled=0",
        }

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()

    def _expire(self, invocation: Invocation) -> None:
        if not invocation.finished.is_set():
            invocation.expired = True
            invocation.fail(FunctionError("Sandbox.Timedout", f"Task timed out after {invocation.timeout_ms / 1000:.2f} seconds"))

    def _claim(self, exchange: Exchange, to: State) -> Invocation:
        """The invocation a post is about, once the order of calls allows the post."""
        invocation = self._current
        if invocation is None or invocation.request_id != exchange.request_id:
            raise Refused(400, "InvalidRequestID", "Invalid request ID")
        self._move(to, State.RUNNING)
        if invocation.expired:
            self.state = State.ANSWERED
            raise Refused(410, "Gone", "the invocation timed out")
        return invocation

    async def _error(self, exchange: Exchange) -> None:
        invocation = self._claim(exchange, State.ANSWERED)
        invocation.headers = exchange.head.headers
        invocation.fail(await _posted_error(exchange))
        await exchange.answer(202, {"status": "OK"})

    async def _init_error(self, exchange: Exchange) -> None:
        self._move(State.DEAD, State.STARTED)
        self.init_error.set_result(await _posted_error(exchange))
        await exchange.answer(202, {"status": "OK"})

    async def _restore_next(self, exchange: Exchange) -> None:
        self._move(State.RESTORING, State.STARTED)
        self.snapshot_ready.set()
        await self._restored.wait()
        await exchange.answer(200, b"")

    async def _restore_error(self, exchange: Exchange) -> None:
        self._move(State.DEAD, State.RESTORING)
        self.restore_error.set_result(await _posted_error(exchange))
        await exchange.answer(202, {"status": "OK"})

    # -- a response

    async def _response(self, exchange: Exchange) -> None:
        mode = exchange.head.headers.get("lambda-runtime-function-response-mode", "buffered")
        if mode not in ("streaming", "buffered"):
            raise Refused(400, "InvalidFunctionResponseMode", f"Invalid function response mode: {mode}")
        invocation = self._claim(exchange, State.RESPONDING)
        invocation.headers = exchange.head.headers
        relay = Relay(invocation, exchange.head, exchange.reader, self.received, self._bandwidth)
        try:
            async with asyncio.timeout_at(self._deadline):
                await relay.run()
        except TrailerTooLong as exc:
            self.state = State.DEAD
            invocation.fail(FunctionError("Runtime.ExitError", str(exc)))
            raise ConnectionResetError(str(exc)) from exc
        except TimeoutError:
            self._expire(invocation)
            raise
        except OSError as exc:
            invocation.fail(FunctionError("Runtime.TruncatedResponse", str(exc)))
            raise
        except asyncio.IncompleteReadError as exc:
            invocation.fail(FunctionError("Runtime.TruncatedResponse", "HTTP request detected as truncated"))
            raise Refused(400, "Runtime.TruncatedResponse", "HTTP request detected as truncated") from exc
        finally:
            if self.state is State.RESPONDING:
                self.state = State.ANSWERED
        await exchange.answer(202, {"status": "OK"})


async def _posted_error(exchange: Exchange) -> FunctionError:
    """`{"errorType", "errorMessage", "stackTrace"}` and the type header → FunctionError."""
    body = await read_body(exchange.reader, exchange.head)
    try:
        payload = json.loads(body)
    except ValueError:
        payload = {}
    fields = payload if isinstance(payload, dict) else {}
    error_type = valid_error_type(exchange.head.headers.get("lambda-runtime-function-error-type", ""))
    return FunctionError(error_type, str(fields.get("errorMessage", "")), fields)
