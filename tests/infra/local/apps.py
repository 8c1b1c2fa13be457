"""Small functions for the workers under test; `_HANDLER=tests.infra.local.apps.app`. The path says what happens."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Answer:
    """Writes one answer."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def start(self, status: int = 200, **headers: str) -> None:
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def chunk(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def json(self, value: object) -> None:
        await self.start(content_type="application/json")
        await self.end(json.dumps(value).encode())


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
    body = await _body(receive)
    await ROUTES[scope["path"]](Answer(send), query, body, scope)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


Query = MutableMapping[str, str]


async def who(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    await answer.json({"pid": os.getpid(), "agent": os.environ["AGENTS_NAME"]})


async def echo(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    await answer.json({"event": scope["aws.event"], "body": body.decode("latin-1")})


async def environ(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    await answer.json(dict(os.environ))


async def stream(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    """`n` chunks, `gap` seconds apart; then it touches the file `done`."""
    await answer.start(content_type="text/event-stream")
    for number in range(int(query["n"])):
        await answer.chunk(b"data: %d\n\n" % number)
        await asyncio.sleep(float(query["gap"]))
    await answer.end()
    if "done" in query:
        await asyncio.to_thread(Path(query["done"]).write_text, str(os.getpid()))


async def after(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    """Answers at once and works on for `seconds`."""
    await answer.json({"pid": os.getpid()})
    await asyncio.sleep(float(query["seconds"]))


async def crash(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    """Dies: at once, or after a first chunk."""
    if "midway" in query:
        await answer.start(content_type="text/plain")
        await answer.chunk(b"the first half")
        await asyncio.sleep(0.1)
    os._exit(3)


async def cookies(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    await answer.start(set_cookie="a=1; Path=/")
    await answer.end(b"ok")


async def child(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    """Starts a process of its own that would live for a minute."""
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
    await answer.json({"pid": os.getpid(), "child": started.pid})


async def fail(answer: Answer, query: Query, body: bytes, scope: Scope) -> None:
    raise RuntimeError("as asked")


ROUTES: dict[str, Callable[[Answer, Query, bytes, Scope], Awaitable[None]]] = {
    "/": who,
    "/after": after,
    "/child": child,
    "/cookies": cookies,
    "/crash": crash,
    "/echo": echo,
    "/environ": environ,
    "/fail": fail,
    "/stream": stream,
}
