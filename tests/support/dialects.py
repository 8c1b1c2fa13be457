"""What four model providers put on the wire for the same turn: an OpenAI-compatible server, DeepSeek, Anthropic, Bedrock Converse.

`Dialect.model` is the provider's own LangChain package, `Dialect.say` makes a `Wire` answer in the provider's streaming format.
"""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from binascii import crc32
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import Any

from graphs.models import make_model
from tests.support.chat_wire import Wire

Json = dict[str, Any]
Pieces = Sequence[str]

SIGNATURE = "c2ln"
INPUT, OUTPUT, CACHED, WRITTEN, REASONED = 112, 9, 100, 7, 4
"""Tokens of every turn: INPUT holds CACHED and, where the provider counts them, WRITTEN; OUTPUT holds REASONED."""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: thinking, then text, then calls of (id, name, pieces of its arguments)."""

    reasoning: Pieces = ()
    text: Pieces = ()
    calls: Sequence[tuple[str, str, Pieces]] = ()
    refused: bool = False


@dataclass
class Dialect(ABC):
    """A provider. `usage`: what RUN_FINISHED says of a turn. `limited`: the status, body and headers of a 429."""

    name: str
    provider: str
    model_name: str
    usage: Json = field(default_factory=dict)
    signs: bool = False  # its thinking carries a signature

    @abstractmethod
    def model(self, wire: Wire, *, max_retries: int = 0) -> Any:
        """The model, made as a function makes it."""

    @abstractmethod
    def frames(self, said: Said) -> list[Any]:
        """The whole answer."""

    def error(self, status: int, words: str) -> Json:
        """The body of an error."""
        return {"error": {"message": words, "type": "error", "code": None}}

    def headers(self, status: int) -> dict[str, str]:
        """Headers that an error or a stream of this provider has."""
        return {}

    def say(self, wire: Wire, said: Said, *, cut_after: int | None = None) -> None:
        """Answer with this turn; `cut_after`: only so many frames, then the connection breaks."""
        frames = self.frames(said)
        wire.status, wire.more_headers = 200, self.headers(200)
        wire.answer, wire.cut = (frames, False) if cut_after is None else (frames[:cut_after], True)
        wire.done = False

    def refuse(self, wire: Wire, status: int, words: str, **headers: str) -> None:
        """Answer with this status."""
        wire.status, wire.answer = status, self.error(status, words)
        wire.more_headers = self.headers(status) | headers


class ChatCompletions(Dialect):
    """OpenAI's chat completions; calls come in turns, told apart by their index. Only OpenAI has a field for a refusal in words."""

    @property
    def refuses_in_words(self) -> bool:
        return self.provider == "openai"

    def model(self, wire: Wire, *, max_retries: int = 0) -> Any:
        return make_model(f"{self.provider}:{self.model_name}", base_url=wire.url, api_key="k", max_retries=max_retries)

    def frames(self, said: Said) -> list[Any]:
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in said.reasoning]
        deltas += [{"refusal" if said.refused and self.refuses_in_words else "content": piece} for piece in said.text]
        deltas += [{"tool_calls": [_first_piece(i, *call[:2])]} for i, call in enumerate(said.calls)]
        for pieces in zip_longest(*(call[2] for call in said.calls)):
            deltas += [{"tool_calls": [{"index": i, "function": {"arguments": p}}]} for i, p in enumerate(pieces) if p is not None]
        chunks = [self._chunk({"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]
        filtered = said.refused and not (said.text and self.refuses_in_words)
        finish = "content_filter" if filtered else "tool_calls" if said.calls else "stop"
        chunks.append(self._chunk({"index": 0, "delta": {}, "finish_reason": finish}))
        return [*chunks, {**self._chunk(), "usage": self._usage()}, "data: [DONE]\n\n"]

    def _chunk(self, *choices: Json) -> Json:
        return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": self.model_name, "choices": list(choices)}

    def _usage(self) -> Json:
        counted: Json = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
        details = {"completion_tokens_details": {"reasoning_tokens": REASONED}}
        if self.provider == "deepseek":
            return {**counted, **details, "prompt_cache_hit_tokens": CACHED, "prompt_cache_miss_tokens": INPUT - CACHED}
        return {**counted, **details, "prompt_tokens_details": {"cached_tokens": CACHED}}


def _first_piece(index: int, id_: str, name: str) -> Json:
    return {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}


class Anthropic(Dialect):
    """Anthropic's messages: named events, one content block after the other."""

    def model(self, wire: Wire, *, max_retries: int = 0) -> Any:
        thinking = {"type": "enabled", "budget_tokens": 1024}
        url = wire.url.removesuffix("/v1")
        name = f"anthropic:{self.model_name}"
        return make_model(name, base_url=url, api_key="k", max_retries=max_retries, max_tokens=2048, thinking=thinking)

    def frames(self, said: Said) -> list[Any]:
        usage = {"input_tokens": INPUT - CACHED - WRITTEN, "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": WRITTEN}
        start: Json = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": self.model_name, "stop_reason": None}
        blocks = [event for i, block in enumerate(self._blocks(said)) for event in _anthropic_block(i, *block)]
        stop = "refusal" if said.refused else "tool_use" if said.calls else "end_turn"
        events: list[Json] = [
            {"type": "message_start", "message": {**start, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}},
            *blocks,
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {**usage, "output_tokens": OUTPUT, "output_tokens_details": {"thinking_tokens": REASONED}},
            },
            {"type": "message_stop"},
        ]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]

    def _blocks(self, said: Said) -> list[tuple[Json, list[Json]]]:
        blocks: list[tuple[Json, list[Json]]] = []
        if said.reasoning:
            deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in said.reasoning]
            signed = [*deltas, {"type": "signature_delta", "signature": SIGNATURE}]
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, signed))
        if said.text:
            blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in said.text]))
        for id_, name, pieces in said.calls:
            content = {"type": "tool_use", "id": id_, "name": name, "input": {}}
            blocks.append((content, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]))
        return blocks

    def error(self, status: int, words: str) -> Json:
        return {"type": "error", "error": {"type": "api_error", "message": words}}


def _anthropic_block(index: int, content: Json, deltas: Sequence[Json]) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


AWS_ERRORS = {401: "UnrecognizedClientException", 429: "ThrottlingException", 500: "InternalServerException"}


class Bedrock(Dialect):
    """Bedrock Converse: AWS's binary event stream."""

    def model(self, wire: Wire, *, max_retries: int = 0) -> Any:
        return _on_bedrock(self.model_name, wire.url.removesuffix("/v1"), max_retries)

    def frames(self, said: Said) -> list[Any]:
        stop = "guardrail_intervened" if said.refused else "tool_use" if said.calls else "end_turn"
        usage = {"inputTokens": INPUT - CACHED - WRITTEN, "outputTokens": OUTPUT, "totalTokens": INPUT + OUTPUT}
        usage |= {"cacheReadInputTokens": CACHED, "cacheWriteInputTokens": WRITTEN}
        return [
            aws_event("messageStart", {"role": "assistant"}),
            *(event for i, block in enumerate(self._blocks(said)) for event in _bedrock_block(i, *block)),
            aws_event("messageStop", {"stopReason": stop}),
            aws_event("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
        ]

    def _blocks(self, said: Said) -> list[tuple[Json | None, list[Json]]]:
        blocks: list[tuple[Json | None, list[Json]]] = []
        if said.reasoning:
            deltas = [{"reasoningContent": {"text": piece}} for piece in said.reasoning]
            blocks.append((None, [*deltas, {"reasoningContent": {"signature": SIGNATURE}}]))
        if said.text:
            blocks.append((None, [{"text": piece} for piece in said.text]))
        for id_, name, pieces in said.calls:
            blocks.append(({"toolUse": {"toolUseId": id_, "name": name}}, [{"toolUse": {"input": piece}} for piece in pieces]))
        return blocks

    def error(self, status: int, words: str) -> Json:
        return {"message": words}

    def headers(self, status: int) -> dict[str, str]:
        if status == 200:
            return {"content-type": "application/vnd.amazon.eventstream"}
        return {"x-amzn-errortype": AWS_ERRORS[status]}


@cache
def _on_bedrock(name: str, url: str, max_retries: int) -> Any:
    """Kept: botocore reads a second's worth of service models for each client."""
    keys: Json = {"aws_access_key_id": "k", "aws_secret_access_key": "k", "region_name": "us-east-1"}
    return make_model(f"bedrock_converse:{name}", base_url=url, max_retries=max_retries, **keys)


def _bedrock_block(index: int, start: Json | None, deltas: Sequence[Json]) -> list[bytes]:
    at = {"contentBlockIndex": index}
    started = [aws_event("contentBlockStart", {**at, "start": start})] if start else []
    return [*started, *(aws_event("contentBlockDelta", {**at, "delta": delta}) for delta in deltas), aws_event("contentBlockStop", at)]


def aws_event(kind: str, payload: Json, *, message: str = "event") -> bytes:
    """One message of an AWS event stream: lengths, their CRC, headers, JSON, the CRC of it all; `message` is `event` or `exception`.

    https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream
    """
    names = {":message-type": message, f":{message}-type": kind, ":content-type": "application/json"}
    headers = b"".join(bytes([len(n)]) + n.encode() + b"\x07" + struct.pack("!H", len(v)) + v.encode() for n, v in names.items())
    body = json.dumps(payload).encode()
    lengths = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    framed = lengths + struct.pack("!I", crc32(lengths)) + headers + body
    return framed + struct.pack("!I", crc32(framed))


CLAUDE_ON_AWS = "anthropic.claude-sonnet-4-5-20250929-v1:0"
"""A name that langchain-aws knows to stream with tools; to others it sends no streaming request."""
COUNTED = {"inputTokens": INPUT, "outputTokens": OUTPUT, "cachedInputTokens": CACHED}
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        ChatCompletions("openai", "openai", "wire", COUNTED | {"reasoningTokens": REASONED}),
        ChatCompletions("deepseek", "deepseek", "deepseek-wire", COUNTED | {"reasoningTokens": REASONED}),
        Anthropic(
            "anthropic", "anthropic", "claude-wire", COUNTED | {"reasoningTokens": REASONED, "cacheWriteInputTokens": WRITTEN}, signs=True
        ),
        Bedrock(
            "bedrock",
            "amazon_bedrock",
            CLAUDE_ON_AWS,
            COUNTED | {"cacheWriteInputTokens": WRITTEN},
            signs=True,
        ),
    )
}
