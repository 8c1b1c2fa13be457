"""Small ASGI apps, as plain functions."""

from __future__ import annotations

from collections.abc import Iterable

from mangum.types import ASGI, Message, Receive, Scope, Send


def scripted(*messages: Message, error: Exception | None = None) -> ASGI:
    """An app that sends these messages, then raises `error` or returns. It has no lifespan."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        for message in messages:
            await send(message)
        if error is not None:
            raise error

    return app


def start(status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Message:
    return {"type": "http.response.start", "status": status, "headers": [(n.encode("latin-1"), v.encode("latin-1")) for n, v in headers]}


def body(data: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}
