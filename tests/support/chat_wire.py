"""A chat completions server on a real socket: says what a test puts in, keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Wire:
    """`answer` is a JSON body, or a list of `delta` objects sent as SSE with `pause` seconds before each, and `[DONE]` if `done`.

    `asked` holds the request bodies (for a GET: the path), `begun` is set when the first frame was sent, `hung_up` when the caller closed
    the connection in the middle.
    """

    status: int = 200
    answer: Any = None
    pause: float = 0.0
    done: bool = True
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

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            wire.asked.append(json.loads(body))
            wire.headers.append({name.lower(): value for name, value in self.headers.items()})
            _reply(self, wire)

        def do_GET(self) -> None:
            wire.asked.append(self.path)
            _reply(self, wire)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent: the default writes every request to stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wire.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _reply(handler: BaseHTTPRequestHandler, wire: Wire) -> None:
    handler.send_response(wire.status)
    streamed = isinstance(wire.answer, list)
    handler.send_header("content-type", "text/event-stream" if streamed else "application/json")
    handler.end_headers()
    try:
        for frame in _frames(wire) if streamed else [_text(wire.answer)]:
            handler.wfile.write(frame.encode())
            handler.wfile.flush()
            wire.begun.set()
    except (BrokenPipeError, ConnectionResetError):
        wire.hung_up.set()


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


def _frames(wire: Wire) -> Iterator[str]:
    for item in wire.answer:
        time.sleep(wire.pause)
        yield item if isinstance(item, str) else f"data: {json.dumps(item)}\n\n"
    if wire.done:
        yield "data: [DONE]\n\n"
