"""A chat model behind Anthropic's Messages API, on loopback: what the CLI of the Claude Agent SDK talks to where no key is.

One thread a request. It knows what that CLI sends: text, tool uses and their results; the CLI's own reminders are left out.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolCall, ToolMessage

log = logging.getLogger(__name__)

Json = dict[str, Any]
REMINDER = "<system-reminder>"
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class MessagesWire:
    """`url` is the API's base. An exception of the model with a `status_code` is answered with it, others with 500."""

    def __init__(self, model: BaseChatModel) -> None:
        self._model = model
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                wire._answer(self, urlsplit(self.path).path, body)

            def do_HEAD(self) -> None:
                _send(self, 200, {})

            def log_message(self, format: str, *args: Any) -> None:
                """Silent: the default writes every request to stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler, path: str, body: Json) -> None:
        if path != "/v1/messages":
            return _send(handler, 404, _error(404, "only /v1/messages is here"))
        message_id = f"msg_{uuid4()}"
        chunks = self._model.stream(messages_of(body), tools=[{"function": {"name": tool["name"]}} for tool in body.get("tools") or ()])
        try:
            first = next(chunks)  # a model that fails at once is a status, not a stream
        except Exception as error:  # noqa: BLE001 - whatever it raises, the client has to hear of it
            status = getattr(error, "status_code", 500)
            log.warning("the model behind the wire failed: %r", error)
            return _send(handler, status, _error(status, str(error)))
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        try:
            for event in events_of(message_id, str(body.get("model")), _with(first, chunks)):
                handler.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                handler.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            log.info("the CLI hung up")
        except Exception as error:  # noqa: BLE001 - whatever it raises: the stream stops short, which is how its client hears of it
            log.warning("the model behind the wire failed: %r", error)
        return None


def _with(first: BaseMessage, rest: Iterator[BaseMessage]) -> Iterator[BaseMessage]:
    yield first
    yield from rest


def _send(handler: BaseHTTPRequestHandler, status: int, body: Json) -> None:
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    handler.wfile.write(json.dumps(body).encode())


def _error(status: int, text: str) -> Json:
    return {"type": "error", "error": {"type": ERRORS.get(status, "api_error"), "message": text}}


# requests


def messages_of(body: Mapping[str, Any]) -> list[BaseMessage]:
    """The conversation of a request as LangChain has it, without what the CLI adds to it for the model's eyes."""
    messages: list[BaseMessage] = []
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        messages += _assistant(blocks) if message["role"] == "assistant" else _user(blocks) if message["role"] == "user" else []
    return messages


def _user(blocks: list[Json]) -> list[BaseMessage]:
    results = [block for block in blocks if block["type"] == "tool_result"]
    if results:
        return [ToolMessage(_text(block.get("content")), tool_call_id=block["tool_use_id"]) for block in results]
    text = "\n".join(b["text"] for b in blocks if b["type"] == "text" and not b["text"].lstrip().startswith(REMINDER))
    return [HumanMessage(text)] if text.strip() else []


def _assistant(blocks: list[Json]) -> list[BaseMessage]:
    calls = [ToolCall(name=b["name"], args=b["input"], id=b["id"], type="tool_call") for b in blocks if b["type"] == "tool_use"]
    return [AIMessage("".join(b["text"] for b in blocks if b["type"] == "text"), tool_calls=calls)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


# answers


@dataclass(slots=True)
class _Blocks:
    """The content blocks of one answer: one is open at a time."""

    index: int = -1
    source: Any = None
    calls: bool = False
    pieces: int = 0
    usage: Json = field(default_factory=lambda: {"input_tokens": 0, "output_tokens": 0})

    def delta(self, source: Any, start: Json, delta: Json | None) -> Iterator[Json]:
        if self.source != source:
            yield from self.stop()
            self.source, self.index = source, self.index + 1
            yield {"type": "content_block_start", "index": self.index, "content_block": start}
        if delta is not None:
            yield {"type": "content_block_delta", "index": self.index, "delta": delta}

    def stop(self) -> Iterator[Json]:
        if self.source is not None:
            yield {"type": "content_block_stop", "index": self.index}
            self.source = None


def events_of(message_id: str, model: str, chunks: Iterator[BaseMessage]) -> Iterator[Json]:
    """The stream events of one answer."""
    empty: Json = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    blocks, stop_reason = _Blocks(), ""
    yield {"type": "message_start", "message": {**empty, "usage": blocks.usage}}
    for chunk in chunks:
        assert isinstance(chunk, AIMessageChunk)
        yield from _chunk(blocks, chunk)
        stop_reason = chunk.response_metadata.get("stop_reason") or stop_reason
        if usage := chunk.usage_metadata:
            blocks.usage = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]}
    yield from blocks.stop()
    ended = {"stop_reason": stop_reason or ("tool_use" if blocks.calls else "end_turn"), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": blocks.usage}
    yield {"type": "message_stop"}


def _chunk(blocks: _Blocks, chunk: AIMessageChunk) -> Iterator[Json]:
    for part in chunk.content if isinstance(chunk.content, list) else ():
        if not isinstance(part, dict):
            continue
        if part["type"] == "text":
            yield from blocks.delta(("text", part.get("index")), {"type": "text", "text": ""}, {"type": "text_delta", "text": part["text"]})
        elif part["type"] == "reasoning":
            thought = {"type": "thinking_delta", "thinking": part["reasoning"]}
            yield from blocks.delta(("reasoning", part.get("index")), {"type": "thinking", "thinking": "", "signature": ""}, thought)
    for call in chunk.tool_call_chunks:
        blocks.calls = True
        start: Json = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}
        piece = {"type": "input_json_delta", "partial_json": call["args"]} if call["args"] else None
        yield from blocks.delta(("call", call["index"]), start, piece)
