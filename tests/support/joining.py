"""Streams that are left, joined and stopped, over plain HTTP."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from tests.support.recording import Json
from tests.support.sse import read_sse

COMMENTS = re.compile(rb"^:.*\n\n", re.MULTILINE)


def said(raw: bytes) -> bytes:
    """A stream without its comments."""
    return COMMENTS.sub(b"", raw)


def frames(raw: bytes) -> list[bytes]:
    return [frame + b"\n\n" for frame in said(raw).split(b"\n\n")[:-1]]


def behind(raw: bytes, number: int) -> bytes:
    """What a stream had after the event of that number; its frames are numbered without a gap."""
    found = frames(raw)
    start = number_of(found[0])
    assert [number_of(frame) for frame in found] == list(range(start, start + len(found)))
    return b"".join(found[number - start + 1 :])


def number_of(frame: bytes) -> int:
    return int(frame.removeprefix(b"id: ").split(b"\n")[0])


class Open:
    """A stream that is being read, in a thread of its own, until it ends or is left."""

    def __init__(self, response: httpx.Response) -> None:
        self.status, self.headers = response.status_code, response.headers
        self.raw = b""
        self.ended_at = 0.0
        self._response = response
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for piece in self._response.iter_raw():
                self.raw += piece
        except (httpx.TransportError, httpx.StreamError):
            pass  # it was left, or its worker was killed: what came is what the test looks at
        self.ended_at = time.monotonic()

    def wait_for(self, count: int, within: float = 20.0) -> int:
        """Returns when so many events have come → the number of the last one."""
        deadline = time.monotonic() + within
        while len(frames(self.raw)) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(frames(self.raw)) >= count, self.raw
        return number_of(frames(self.raw)[-1])

    def to_the_end(self, within: float = 60.0) -> bytes:
        self._thread.join(within)
        assert not self._thread.is_alive(), "the stream does not end"
        return self.raw

    @property
    def pid(self) -> str:
        """Of the worker that serves it."""
        return str(self.headers["x-worker-pid"])

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_sse(self.raw)


@contextmanager
def stream(url: str, input: Json | None = None, **headers: str) -> Iterator[Open]:
    """POST `input`, or GET; the connection is closed at the end."""
    sent = {"headers": {name.replace("_", "-"): value for name, value in headers.items()}, "timeout": 60}
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url, json=input, **sent) if input else client.stream("GET", url, **sent) as response,  # type: ignore[arg-type]
    ):
        yield Open(response)


def events_url(url: str, input: Json, after: int | None = None) -> str:
    """Where the run of `input` is joined."""
    place = f"{url}threads/{quote(input['threadId'], safe='')}/runs/{quote(input['runId'], safe='')}/events"
    return place if after is None else f"{place}?after={after}"
