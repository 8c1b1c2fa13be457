"""The HTTP side of the local stack, a raw ASGI app: the page at `/`, what it reads at `/config.json`, function URLs at `/agents/<name>/`.

A request to a function URL becomes a payload v2.0 event, a worker takes it, and its answer comes back chunk by chunk.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from infra.local.cors import Cors, Headers, hostname_of, is_preflight
from infra.local.environment import IdleDeath
from infra.local.event import HttpRequest, to_event
from infra.local.invocation import FunctionError, Invocation, Prelude, TruncatedResponse
from infra.local.output import Console
from infra.local.own_events import OwnEvents
from infra.local.page import read_file
from infra.local.pool import PoolClosed

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_LIMIT = 6 * 1024 * 1024
"""Largest request of a function URL, in bytes (Lambda's quota on a payload)."""
PREFIX = "/agents/"


class ClientLeft(Exception):
    """The client went before its request was whole: there is nothing to invoke the function with, and nobody to answer."""


class Worker(Protocol):
    @property
    def pid(self) -> int: ...


class Functions(Protocol):
    """What runs the functions; `infra.local.pool.Pool` does."""

    async def invoke(self, agent: str, event: Mapping[str, Any]) -> tuple[Worker, Invocation]: ...


@dataclass(frozen=True, slots=True)
class Site:
    """What is served: the agents (as `/config.json` lists them, by name), the page's folder, CORS, and for which `Host` (None: any)."""

    agents: Mapping[str, Mapping[str, Any]]
    page: Path
    cors: Cors
    hosts: frozenset[str] | None = None


class Front:
    """The ASGI app."""

    def __init__(self, functions: Functions, site: Site, console: Console, own: OwnEvents | None = None) -> None:
        self._functions = functions
        self._site = site
        self._console = console
        self._own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"no {scope['type']} here")
        path: str = scope["path"]
        if refused := self._foreign_host(scope):
            await answer_error(send, 403, "FOREIGN_HOST", refused)
        elif path.startswith(PREFIX):
            await self._function_url(scope, receive, send)
        elif self._own is not None and path.startswith(self._own.prefix):
            await self._own_event(self._own, path.removeprefix(self._own.prefix), receive, send)
        elif path == "/config.json":
            await answer_json(send, 200, {"agents": list(self._site.agents.values())})
        else:
            await self._page(path, scope["method"], send)

    def _foreign_host(self, scope: Scope) -> str | None:
        """Why the request is refused. A page of the world may point its own name at 127.0.0.1, and is then of our origin."""
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), None)
        if self._site.hosts is None or host is None or hostname_of("//" + host) in self._site.hosts:
            return None
        return f"This stack listens for this machine alone, and {host!r} is not its name. It is {', '.join(sorted(self._site.hosts))}."

    async def _page(self, path: str, method: str, send: Send) -> None:
        if method not in ("GET", "HEAD"):
            await answer_error(send, 405, "METHOD_NOT_ALLOWED", "The page is read with GET; a function URL is /agents/<name>/.")
        elif file := read_file(self._site.page, path):
            headers = [(b"content-type", file.content_type.encode()), (b"cache-control", b"no-cache")]
            await answer(send, 200, headers, file.content)
        else:
            await answer_error(send, 404, "NOT_FOUND", f"There is nothing at {path}.")

    async def _own_event(self, own: OwnEvents, path: str, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive, BODY_LIMIT)
        except ClientLeft:
            return
        await answer(send, own.accept(path, body or b"{}", self._site.agents), [], b"")

    # -- a function URL

    async def _function_url(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As AWS's edge: CORS, the size limit, then the function."""
        name = scope["path"][len(PREFIX) :].partition("/")[0]
        if name not in self._site.agents:
            known = ", ".join(self._site.agents)
            await answer_error(send, 404, "UNKNOWN_AGENT", f"There is no agent {name!r} here; there is {known}.")
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        if is_preflight(scope["method"], headers):
            await answer(send, 200, self._site.cors.preflight(headers), b"")
            return
        cors = self._site.cors.answer(headers)
        try:
            body = await read_body(receive, BODY_LIMIT)
        except ClientLeft:
            return
        if body is None:
            message = f"Request must be smaller than {BODY_LIMIT} bytes for the InvokeFunction operation"
            await answer_error(send, 413, "REQUEST_TOO_LARGE", message, cors)
            return
        await self._run(name, to_request(scope, name, body), cors, send)

    async def _run(self, name: str, request: HttpRequest, cors: Headers, send: Send) -> None:
        """One invocation. Raises `TruncatedResponse` after the answer began: the server then ends the body without its last chunk."""
        headers = cors
        try:
            worker, invocation = await self._functions.invoke(name, to_event(request))
            headers = [*cors, (b"x-worker-pid", str(worker.pid).encode())]
            prelude = await invocation.prelude()
        except FunctionError as error:
            self._console.say(f"[{name}] {error}")
            # Lambda says only "Internal Server Error"; here the one who reads it is the one who wrote the function
            await answer_error(send, 502, error.error_type, error.message, headers)
        except IdleDeath as death:
            await answer_error(send, 502, "Runtime.ExitError", str(death), headers)
        except PoolClosed:
            await answer_error(send, 503, "SHUTTING_DOWN", "The local stack is ending.", headers)
        else:
            await self._relay(name, prelude, invocation, headers, send)

    async def _relay(self, name: str, prelude: Prelude, invocation: Invocation, extra: Headers, send: Send) -> None:
        """Sends on what the function writes, as it writes it. A client that left is not noticed: `send` then drops, as on AWS."""
        try:
            await send({"type": "http.response.start", "status": prelude.status, "headers": [*prelude_headers(prelude), *extra]})
            async for chunk in invocation.chunks():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TruncatedResponse as cut:
            self._console.say(f"[{name}] the stream was cut: {cut}")
            raise
        finally:
            # here too: what `chunks` does when it is left waits for the garbage collector, and may never have begun
            invocation.discard()
        if invocation.trailers and (kind := invocation.trailers.get("lambda-runtime-function-error-type")):
            self._console.say(f"[{name}] the function reported {kind} after its answer had begun")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def to_request(scope: Scope, name: str, body: bytes) -> HttpRequest:
    """The request as the function's own URL would see it: without the prefix that names the function."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    client, server = scope.get("client"), scope.get("server")
    return HttpRequest(
        method=scope["method"],
        path="/" + raw.decode("latin-1")[len(PREFIX) :].partition("/")[2],
        query=scope["query_string"].decode("latin-1"),
        headers=tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in scope["headers"]),
        body=body,
        client=client[0] if client else "127.0.0.1",
        protocol=f"HTTP/{scope['http_version']}",
        port=server[1] if server else 80,
        scheme=scope["scheme"],
    )


def prelude_headers(prelude: Prelude) -> Headers:
    # the length is the server's business: the body is sent in chunks
    kept = ((name, value) for name, value in prelude.headers.items() if name not in ("content-length", "transfer-encoding", "connection"))
    return [
        *((name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in kept),
        *((b"set-cookie", cookie.encode("latin-1", "replace")) for cookie in prelude.cookies),
    ]


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """The whole body; None if it is over `limit` bytes. Read to its end even then, or the client would see a reset and not the answer.

    Raises `ClientLeft`.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts) if size <= limit else None


async def answer(send: Send, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def answer_json(send: Send, status: int, value: object, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    content_type = (b"content-type", b"application/json")
    await answer(send, status, [content_type, (b"cache-control", b"no-store"), *headers], json.dumps(value).encode())


async def answer_error(send: Send, status: int, code: str, message: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """`{"error": {"code", "message"}}`, the shape of every error before a stream."""
    await answer_json(send, status, {"error": {"code": code, "message": message or HTTPStatus(status).phrase}}, headers)
