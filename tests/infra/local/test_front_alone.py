"""The front as an ASGI app, without HTTP and without workers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infra.local.cors import Cors
from infra.local.dev import hosts
from infra.local.front import Front, Scope, Site
from infra.local.invocation import BUFFERED_BYTES, Invocation, Prelude
from infra.local.listener import bind
from infra.local.output import Console

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass
class Functions:
    """Takes every event and answers nothing; the invocations are kept."""

    pid: int = 7
    invoked: list[Invocation] = field(default_factory=list)

    async def invoke(self, agent: str, event: Mapping[str, Any]) -> tuple[Functions, Invocation]:
        self.invoked.append(invocation := Invocation(event))
        invocation.begin(Prelude(200, {}, []))
        return self, invocation


def scope(path: str, host: str = "127.0.0.1") -> Scope:
    headers = [(b"host", host.encode())] if host else []
    return {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers, "http_version": "1.1", "scheme": "http"}


def front(functions: Functions, allowed: frozenset[str] | None = None) -> Front:
    return Front(functions, Site({"dev": {"name": "dev"}}, Path("/nowhere"), Cors(), allowed), Console(write=lambda text: None))


async def call(app: Front, asked: Scope, *received: dict[str, Any], breaks: bool = False) -> list[Any]:
    """What the app sent; with `breaks` nothing can be sent."""
    messages, sent = iter(received), []

    async def send(message: Any) -> None:
        if breaks:
            raise ConnectionResetError
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return next(messages)

    await app(asked, receive, send)
    return sent


async def test_half_a_request_is_not_invoked() -> None:
    """A client that leaves before its body is whole has asked for nothing."""
    functions = Functions()
    left = await call(
        front(functions), scope("/agents/dev/"), {"type": "http.request", "body": b'{"a', "more_body": True}, {"type": "http.disconnect"}
    )
    assert (left, functions.invoked) == ([], [])


async def test_an_answer_that_cannot_be_sent_does_not_hold_its_worker() -> None:
    """Even if it breaks at the head: what the function goes on to write is dropped and never waits for a reader."""
    functions = Functions()
    with pytest.raises(ConnectionResetError):
        await call(front(functions), scope("/agents/dev/"), {"type": "http.request", "body": b""}, breaks=True)
    await asyncio.wait_for(functions.invoked[0].feed(b"x" * 2 * BUFFERED_BYTES), 5)


@pytest.mark.parametrize(
    ("host", "allowed", "status"),
    [
        ("127.0.0.1:8000", LOCAL, 200),
        ("LOCALHOST:8000", LOCAL, 200),
        ("[::1]:8000", LOCAL, 200),
        ("", LOCAL, 200),
        ("evil.test:8000", LOCAL, 403),
        ("127.0.0.1.evil.test", LOCAL, 403),
        ("[x", LOCAL, 403),
        ("machine.lan", None, 200),
    ],
)
async def test_only_names_of_this_machine_are_answered(host: str, allowed: frozenset[str] | None, status: int) -> None:
    """A name of the world that points to 127.0.0.1 (DNS rebinding) gets a 403 that says so, for the page and the functions alike."""
    begun, body = await call(front(Functions(), allowed), scope("/config.json", host))
    assert begun["status"] == status
    assert (b"FOREIGN_HOST" in body["body"]) is (status == 403)


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", LOCAL), ("localhost", LOCAL), ("0.0.0.0", None)])
def test_which_names_are_answered(host: str, expected: frozenset[str] | None) -> None:
    """Bound to loopback those of this machine; bound to the network any, as others call it by names of theirs."""
    with bind(host, 0) as listener:
        assert hosts(host, listener) == expected
