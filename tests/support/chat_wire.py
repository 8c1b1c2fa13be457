"""A model provider's server on a real socket: says what a test puts in, keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.http_server import QuietHandler, serving


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer: a status, a JSON body, headers."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Wire:
    """`answer` is a JSON body, or a list of frames sent with `pause` seconds before each: objects as SSE data, texts and bytes as they are;
    then `[DONE]` if `done`.

    `cut`: the connection breaks after the last frame, without an end of the body. `first` are answers that come before, one a request.
    `asked` holds the request bodies (for a GET: the path), `begun` is set when the first frame was sent, `hung_up` when the caller closed
    the connection in the middle.
    """

    status: int = 200
    answer: Any = None
    pause: float = 0.0
    done: bool = True
    cut: bool = False
    more_headers: dict[str, str] = field(default_factory=dict)
    first: list[Answer] = field(default_factory=list)
    url: str = ""
    asked: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)

    def streams(self, deltas: Sequence[dict[str, Any]]) -> None:
        """Answer with these deltas, then a finish reason and usage, as OpenAI does."""
        self.answer = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        self.answer.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "wire"})
        self.answer.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})


@contextmanager
def chat_wire() -> Iterator[Wire]:
    """The server, on a free port until the block ends."""
    wire = Wire()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"  # in chunks: a body that stops without its last one is a broken connection, not an end

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            wire.asked.append(json.loads(body))
            wire.headers.append({name.lower(): value for name, value in self.headers.items()})
            _reply(self, wire)

        def do_GET(self) -> None:
            wire.asked.append(self.path)
            _reply(self, wire)

    with serving(Handler) as address:
        wire.url = f"{address}/v1"
        yield wire


def _reply(handler: BaseHTTPRequestHandler, wire: Wire) -> None:
    handler.close_connection = True
    if wire.first or not isinstance(wire.answer, list):
        _reply_whole(handler, wire.first.pop(0) if wire.first else Answer(wire.status, wire.answer, wire.more_headers))
        wire.begun.set()
        return
    kind = {"content-type": "text/event-stream"} | wire.more_headers
    _head(handler, wire.status, kind | {"transfer-encoding": "chunked"})
    try:
        for frame in _frames(wire):
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            handler.wfile.flush()
            wire.begun.set()
        if not wire.cut:
            handler.wfile.write(b"0\r\n\r\n")
    except (BrokenPipeError, ConnectionResetError):
        wire.hung_up.set()


def _reply_whole(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    body = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
    _head(handler, answer.status, {"content-type": "application/json", "content-length": str(len(body))} | answer.headers)
    handler.wfile.write(body)


def _head(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in {**headers, "connection": "close"}.items():
        handler.send_header(name, value)
    handler.end_headers()


def _frames(wire: Wire) -> Iterator[bytes]:
    for item in wire.answer:
        time.sleep(wire.pause)
        yield item if isinstance(item, bytes) else (item if isinstance(item, str) else f"data: {json.dumps(item)}\n\n").encode()
    if wire.done:
        yield b"data: [DONE]\n\n"
