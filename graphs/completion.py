"""One chat completion outside LangChain's stream: the caller decides what of it reaches the client.

Nodes that must not stream their text (a rewritten document, a list of summaries) call the provider's OpenAI-compatible endpoint here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol
from uuid import uuid4

import httpx
from langgraph.config import get_stream_writer

Mode = Literal["silent", "streamReasoning"]

AGUI_EVENT = "agui"
"""Name of a writer record whose payload is a native AG-UI event."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible API: `base_url` as in `https://api.openai.com/v1`. `timeout` bounds the whole call, in seconds."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked, and how the answer is treated: `silent` emits nothing, `streamReasoning` emits the model's thinking."""

    system: str
    user: str
    temperature: float = 0.7
    mode: Mode = "silent"


class Completion(Protocol):
    """What a node is handed: `await complete(prompt)` is the answer's text, trimmed. Raises what the provider's client raises."""

    async def __call__(self, prompt: Prompt) -> str: ...


def over_endpoint(config: Endpoint) -> Completion:
    """`run_chat_completion` at `config`. Its tokens are not part of the run's usage."""
    return partial(run_chat_completion, config)


CUT_SHORT = frozenset({"length", "max_tokens", "content_filter"})
"""Reasons of an answer's end that is not its own."""
BAD_GATEWAY = 502
"""Status of what failed without one: an error without a code inside a stream, a stream that stopped."""


class CompletionFailed(Exception):
    """The provider answered with a status outside 2xx, with an error in a 200, or with half a stream.

    `status_code` lets the error be classified without reading its text.
    """

    def __init__(self, mode: Mode, status_code: int, body: str) -> None:
        super().__init__(f"chat completion ({mode}) failed with status {status_code}: {body[:200]}")
        self.mode = mode
        self.status_code = status_code


async def run_chat_completion(config: Endpoint, prompt: Prompt) -> str:
    """The answer's text, trimmed.

    Raises `CompletionFailed`, `TimeoutError` after `config.timeout` seconds, or `httpx.TransportError`. Cancelling the task closes the
    connection, so the provider stops too.
    """
    async with asyncio.timeout(config.timeout), _request(config, prompt) as response:
        if response.is_error or response.is_redirect:
            await response.aread()
            raise CompletionFailed(prompt.mode, response.status_code, response.text)
        if prompt.mode == "silent":
            await response.aread()
            return _content(_checked(response.json(), prompt.mode), prompt.mode).strip()
        return (await _drain(_deltas(response, prompt.mode), ReasoningMessages())).strip()


@asynccontextmanager
async def _request(config: Endpoint, prompt: Prompt) -> AsyncIterator[httpx.Response]:
    body = {
        "model": config.model,
        "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
        "temperature": prompt.temperature,
        "stream": prompt.mode == "streamReasoning",
    }
    headers = {"Authorization": f"Bearer {config.api_key}"} if config.api_key else {}
    url = f"{config.base_url.rstrip('/')}/chat/completions"
    async with httpx.AsyncClient(timeout=config.timeout) as client, client.stream("POST", url, json=body, headers=headers) as response:
        yield response


def _content(answer: Mapping[str, Any], mode: Mode) -> str:
    choices = answer.get("choices") or [{}]
    return (_whole(choices[0], mode).get("message") or {}).get("content") or ""


def _whole(choice: Mapping[str, Any], mode: Mode) -> Mapping[str, Any]:
    """Half a rewritten document would read as the deletion of its rest. Raises `CompletionFailed`."""
    if (reason := choice.get("finish_reason")) in CUT_SHORT:
        raise CompletionFailed(mode, BAD_GATEWAY, f"the answer is not whole: {reason}")
    return choice


async def _deltas(response: httpx.Response, mode: Mode) -> AsyncIterator[Mapping[str, Any]]:
    """The `delta` objects of a streamed answer, as they arrive. Raises `CompletionFailed` for an error in it and for a missing end."""
    ended = False
    async for line in _lines(response):
        data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
        if data == b"[DONE]":
            ended = True
        elif data:
            for choice in _checked(json.loads(data), mode).get("choices") or ():
                ended = bool(_whole(choice, mode).get("finish_reason")) or ended
                yield choice.get("delta") or {}
    if not ended:
        raise CompletionFailed(mode, BAD_GATEWAY, "the stream stopped before its end")


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Split at line feeds alone: httpx's `aiter_lines` also splits at U+2028, U+2029 and U+0085, which JSON may hold unescaped."""
    rest = b""
    async for chunk in response.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    yield rest


def _checked(answer: Mapping[str, Any], mode: Mode) -> Mapping[str, Any]:
    """The answer itself. Raises `CompletionFailed` if it is an error: servers send one with a 200 once they have begun to answer."""
    if not (error := answer.get("error")):
        return answer
    code = str(error.get("code")) if isinstance(error, Mapping) else ""
    status = int(code) if re.fullmatch("[45][0-9]{2}", code) else BAD_GATEWAY
    raise CompletionFailed(mode, status, json.dumps(error, ensure_ascii=False))


async def _drain(deltas: AsyncIterator[Mapping[str, Any]], reasoning: ReasoningMessages) -> str:
    parts: list[str] = []
    try:
        async for delta in deltas:
            reasoning.add(delta.get("reasoning_content") or delta.get("reasoning") or "")
            if content := delta.get("content"):
                reasoning.end()
                parts.append(content)
    finally:  # the stream ended, failed or was cancelled: what was opened is closed
        reasoning.end()
    return "".join(parts)


class ReasoningMessages:
    """The thinking of one completion, on the graph's writer. Thinking that goes on after some content is a new message."""

    def __init__(self) -> None:
        self._write = _writer()
        self._open: str | None = None

    def add(self, text: str) -> None:
        """The next piece; the first opens a message."""
        if not text:
            return
        if self._open is None:
            self._open = f"reasoning-{uuid4()}"
            self._emit("REASONING_MESSAGE_START", role="reasoning")
        self._emit("REASONING_MESSAGE_CONTENT", delta=text)

    def end(self) -> None:
        """Closes the message that is open, if one is."""
        if self._open is not None:
            self._emit("REASONING_MESSAGE_END")
            self._open = None

    def _emit(self, kind: str, **fields: str) -> None:
        self._write({"name": AGUI_EVENT, "payload": {"type": kind, "messageId": self._open, **fields}})


def _writer() -> Callable[[Any], None]:
    try:
        return get_stream_writer()
    except RuntimeError:  # called outside a graph: nobody listens
        return lambda _: None
