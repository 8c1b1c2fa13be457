"""Requests that nobody would send: a good one, broken in one to four places; and events of a function URL, broken in the same way."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

from tests.support.events import url_event

Json = Any
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1e308,
        2**63,
        -(2**63) - 1,
        2**64,
        0.1,
        "",
        " ",
        "\x00",
        "x" * 300,
        "x" * 70_000,
        "é",
        "🙂",
        "\u202e",
        "../..",
        "a/b",
    ),
    *("id: 1\ndata: {}\n\n", "<script>", "{}", "[]", "null", "NaN", [], {}, [[]], [None], {"": ""}, {"type": "x"}, [{"role": "user"}]),
    *({"toString": 1}, {"__proto__": {"a": 1}}, ["a"] * 50, {"$ref": "#"}, {"url": "http://169.254.169.254/"}),
)
PATHS = ("/", "/connect", "/threads", "/threads/t0", "/threads/t0/stop", "/threads/t0/messages", "/threads/t0/state", "/threads/t0/history")
MORE_PATHS = (
    "/threads/t0/runs/r0/events",
    "/info",
    "/health",
    "/agents",
    "/agent/dev/run",
    "/agent/dev/connect",
    "/.own",
    "/docs",
    "/nowhere",
)
METHODS = ("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE")
HEADERS = (
    ("prefer", ("respond-async", "wait=1", "wait=99999999999", ",,,", "respond-async;wait")),
    ("idempotency-key", ("", "k", "k" * 300, "é", "\x01")),
    ("content-type", ("text/plain", "application/json; charset=x", "", "multipart/form-data")),
    ("last-event-id", ("1", "-1", "9" * 40, "x")),
    ("accept", ("*/*", "text/html", "")),
    ("x-forwarded-for", ("10.0.0.1, 1", "é")),
    ("x-http-method-override", ("DELETE",)),
    ("authorization", ("Bearer x", "Basic !", "")),
    ("content-length", ("0", "-5", "99999999999")),
)


def run_input(number: int) -> Json:
    message = {"id": f"u{number}", "role": "user", "content": [{"type": "text", "text": "start demo"}]}
    tools = [{"name": "show", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
    resume = [{"interruptId": "i", "status": "resolved", "payload": {"value": "x"}}]
    call = {"id": "c", "type": "function", "function": {"name": "show", "arguments": "{}"}}
    older = [
        {"id": "a", "role": "assistant", "content": "hello", "toolCalls": [call]},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "ok"},
    ]
    rest = {"tools": tools, "context": [{"description": "d", "value": "v"}], "state": {"a": 1}, "forwardedProps": {"b": [1]}}
    return {
        "threadId": f"t{number % 40}",
        "runId": f"r{number}",
        "messages": [*older, message],
        "resume": resume,
        **rest,
        "protocolVersion": "1.0",
    }


class Mutator:
    """Draws from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def request(self, number: int) -> tuple[str, str, bytes, list[tuple[str, str]]]:
        """Method, path with query, body, headers."""
        draw = self.random
        method, path = ("POST", "/") if draw.random() < 0.6 else (draw.choice(METHODS), draw.choice(PATHS + MORE_PATHS))
        if draw.random() < 0.1:
            path += draw.choice(
                ("?after=x", "?after=-1", "?limit=0", "?limit=99999999999999999999", "?cursor=%00", "?cursor=e30=", "?a=%ff")
            )
        given = run_input(number)
        if draw.random() < 0.4:
            given.pop("resume")
        body = self.text(self.broken(given, draw.randint(0, 4)))
        headers = [("content-type", "application/json")]
        for name, values in HEADERS:
            if draw.random() < 0.06:
                headers.append((name, draw.choice(values)))
        return method, path, body, headers

    def event(self, number: int) -> Json:
        """An event of a function URL."""
        method, path, body, headers = self.request(number)
        path, _, query = path.partition("?")
        event = url_event(path, method, body.decode("utf-8", "replace"), rawQueryString=query)
        event["headers"] = {**event["headers"], **dict(headers)}
        return self.broken(event, self.random.randint(0, 3))

    def text(self, value: Json) -> bytes:
        draw = self.random
        raw = json.dumps(value).encode()
        kind = draw.random()
        if kind < 0.04:
            return raw[: draw.randrange(len(raw) + 1)]
        if kind < 0.07:
            at = draw.randrange(len(raw) + 1)
            return raw[:at] + bytes([draw.randrange(256)]) + raw[at + 1 :]
        if kind < 0.08:
            return b"[" * 5_000 + b"]" * 5_000
        return raw.replace(b'"start demo"', draw.choice((b"NaN", b"1e999", b'"\\ud800"', b"9" * 400))) if kind < 0.1 else raw

    def broken(self, value: Json, times: int) -> Json:
        """A copy, changed in so many places."""
        changed = deepcopy(value)
        for _ in range(times):
            places = list(_places(changed))
            self.random.choice(places)(self._instead)
        return changed

    def _instead(self, old: Json) -> Json:
        draw = self.random
        if isinstance(old, list) and old and draw.random() < 0.3:
            return old * draw.choice((2, 3, 40))
        if isinstance(old, str) and draw.random() < 0.3:
            return old + draw.choice(("\x00", "\ud800", "/", " ", "#", ":::"))
        return deepcopy(draw.choice(ODD))


How = Callable[[Json], Json]
Change = Callable[[How], None]


def _places(value: Json) -> Iterator[Change]:
    """Every value inside, as what changes it; and what takes a key away."""
    if isinstance(value, dict):
        for key in list(value):
            yield partial(_change, value, key)
            yield partial(_remove, value, key)
            yield from _places(value[key])
        yield partial(_change, value, "extra")
    elif isinstance(value, list):
        for index in range(len(value)):
            yield partial(_change_item, value, index)
            yield from _places(value[index])


def _change(owner: dict[str, Json], key: str, how: How) -> None:
    owner[key] = how(owner.get(key))


def _remove(owner: dict[str, Json], key: str, how: How) -> None:
    owner.pop(key, None)


def _change_item(owner: list[Json], index: int, how: How) -> None:
    owner[index] = how(owner[index])
