"""The SDK's messages → native AG-UI events, and the LangChain messages that the node returns under the same ids.

With partial messages on the CLI says everything twice: as the API's stream events, and as whole messages. The events count; a whole
message counts where nothing of it was streamed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from claude_agent_sdk import AssistantMessage, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, UserMessage
from claude_agent_sdk.types import StreamEvent
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

Event = dict[str, Any]
Events = Iterator[Event]


@dataclass(slots=True)
class Block:
    """A content block on its way: what it said, and under which id it is open."""

    kind: str
    pieces: list[str] = field(default_factory=list)
    item_id: str = ""
    initial: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class Said:
    """One assistant message: under `id`, of the API's message `source`, whose `earlier` texts are messages of their own. One that comes in
    events is not `whole` before its end."""

    id: str
    source: str
    whole: bool
    earlier: list[BaseMessage] = field(default_factory=list)
    content: list[dict[str, Any]] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[BaseMessage] = field(default_factory=list)
    open: dict[int, Block] = field(default_factory=dict)

    def messages(self) -> list[BaseMessage]:
        own = [AIMessage(content=list(self.content), id=self.id, tool_calls=self.calls)] if self.content or self.calls else []
        return [*self.earlier, *own, *self.results]

    def holds(self, kind: str) -> bool:
        return any(block["type"] == kind for block in self.content)


class Reply:
    """What one run of the SDK says. `answered`: ids of the calls whose results the thread has."""

    def __init__(self, answered: Sequence[str] = ()) -> None:
        self._done: list[BaseMessage] = []
        self._said: Said | None = None
        self._streamed: set[str] = set()
        self._answered = set(answered)

    @property
    def messages(self) -> list[BaseMessage]:
        """Whole messages and results, in order; one that broke off is not among them."""
        return list(self._done)

    def map(self, message: Any) -> Events:
        """The events of one SDK message; none for a sub-agent's, whose last word is its call's result."""
        if getattr(message, "parent_tool_use_id", None) is None:
            if isinstance(message, StreamEvent):
                yield from self._stream(message.event)
            elif isinstance(message, AssistantMessage):
                yield from self._whole(message)
            elif isinstance(message, UserMessage):
                yield from self._results(message)

    def end(self) -> Events:
        """The run is over: what is still open ends."""
        yield from self._finish()

    # -- the API's stream events

    def _stream(self, event: Mapping[str, Any]) -> Events:
        if event["type"] == "message_start":
            yield from self._begin(str(event["message"]["id"]), streamed=True)
        elif self._said is not None and (mapped := self._EVENTS.get(event["type"])):
            yield from mapped(self, self._said, event)

    def _begin(self, message_id: str, *, streamed: bool) -> Events:
        yield from self._finish()
        if streamed:
            self._streamed.add(message_id)
        self._said = Said(message_id, message_id, whole=not streamed)

    def _start(self, said: Said, event: Mapping[str, Any]) -> Events:
        content = event["content_block"]
        if content["type"] == "text" and said.holds("text"):
            # an AG-UI message has one text: the next is a message of its own, the open blocks move along
            said = self._said = Said(f"{said.source}:{event['index']}", said.source, said.whole, said.messages(), open=said.open)
        block = said.open[event["index"]] = Block(content["type"])
        if block.kind == "tool_use":
            block.item_id, block.initial = content["id"], {"name": content["name"], "input": content.get("input") or {}}
            yield {"type": "TOOL_CALL_START", "toolCallId": block.item_id, "toolCallName": content["name"], "parentMessageId": said.id}
        else:
            yield from self._add(said, block, content.get(block.kind) or "")

    def _delta(self, said: Said, event: Mapping[str, Any]) -> Events:
        delta, block = event["delta"], said.open.get(event["index"])
        piece = delta.get({"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}.get(delta["type"], ""))
        if block is not None and piece:
            yield from self._add(said, block, piece)

    def _add(self, said: Said, block: Block, piece: str) -> Events:
        """A piece of a block. Text and thinking are opened by their first one, so that an empty block shows nothing."""
        stem = _STEMS.get(block.kind)
        if not piece or stem is None:
            return
        if block.kind == "tool_use":
            yield {"type": "TOOL_CALL_ARGS", "toolCallId": block.item_id, "delta": piece}
        else:
            if not block.item_id:
                block.item_id = said.id if block.kind == "text" else f"{said.id}:reasoning:{len(said.content)}"
                role = "assistant" if block.kind == "text" else "reasoning"
                yield {"type": f"{stem}_START", "messageId": block.item_id, "role": role}
            yield {"type": f"{stem}_CONTENT", "messageId": block.item_id, "delta": piece}
        block.pieces.append(piece)

    def _stop(self, said: Said, event: Mapping[str, Any]) -> Events:
        block = said.open.pop(event["index"], None)
        if block is None or not block.item_id:
            return
        if block.kind == "tool_use":
            if not block.pieces:
                yield from self._add(said, block, json.dumps(block.initial["input"], ensure_ascii=False))
            said.calls.append(ToolCall(name=block.initial["name"], args=_arguments(block.text), id=block.item_id, type="tool_call"))
            yield {"type": "TOOL_CALL_END", "toolCallId": block.item_id}
        else:
            name = "text" if block.kind == "text" else "reasoning"
            said.content.append({"type": name, name: block.text})
            yield {"type": f"{_STEMS[block.kind]}_END", "messageId": block.item_id}

    def _message_delta(self, said: Said, event: Mapping[str, Any]) -> Events:
        """Only the API says why a message ends. The CLI itself stops the blocks and the message of a stream that was cut."""
        said.whole = said.whole or bool(event["delta"].get("stop_reason"))
        yield from ()

    def _message_stop(self, said: Said, event: Mapping[str, Any]) -> Events:
        yield from self._finish()

    _EVENTS: Mapping[str, Callable[[Reply, Said, Mapping[str, Any]], Events]] = {
        "content_block_start": _start,
        "content_block_delta": _delta,
        "content_block_stop": _stop,
        "message_delta": _message_delta,
        "message_stop": _message_stop,
    }

    def _finish(self) -> Events:
        """Ends the message at hand. One that broke off (the CLI asks again) is closed on the screen and not kept."""
        said, self._said = self._said, None
        if said is None:
            return
        for index in list(said.open):
            yield from self._stop(said, {"index": index})
        if said.whole:
            self._done += said.messages()

    # -- whole messages

    def _whole(self, message: AssistantMessage) -> Events:
        """The CLI sends a whole message a block at a time, all under one id. Its own notes about a failed API call are no reply."""
        message_id = message.message_id or message.uuid or str(uuid4())
        if message.error or message_id in self._streamed:
            return
        if self._said is None or self._said.source != message_id:
            yield from self._begin(message_id, streamed=False)
        for block in message.content:
            if (raw := _raw(block)) is not None:
                assert self._said is not None
                index = len(self._said.content) + len(self._said.calls)
                yield from self._start(self._said, {"index": index, "content_block": raw})
                yield from self._stop(self._said, {"index": index})

    # -- results

    def _results(self, message: UserMessage) -> Events:
        for block in message.content if isinstance(message.content, list) else ():
            if isinstance(block, ToolResultBlock) and block.tool_use_id not in self._answered:
                self._answered.add(block.tool_use_id)
                result = ToolMessage(
                    _result_text(block.content),
                    id=str(uuid4()),
                    tool_call_id=block.tool_use_id,
                    status="error" if block.is_error else "success",
                )
                # a tool may be done before the message that called it is
                (self._said.results if self._said else self._done).append(result)
                failed = {"metadata": {"error": True}} if block.is_error else {}
                ids = {"messageId": result.id, "toolCallId": block.tool_use_id}
                yield {"type": "TOOL_CALL_RESULT", **ids, "content": result.content, "role": "tool", **failed}


_STEMS = {"text": "TEXT_MESSAGE", "thinking": "REASONING_MESSAGE", "tool_use": "TOOL_CALL"}


def _raw(block: Any) -> dict[str, Any] | None:
    """A block of a whole message as its start event would have it."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ThinkingBlock):
        return {"type": "thinking", "thinking": block.thinking}
    if isinstance(block, ToolUseBlock):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    return None


def _arguments(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text or "{}")
    except json.JSONDecodeError:
        return {"raw": text}
    return parsed if isinstance(parsed, dict) else {"raw": parsed}


def _result_text(content: str | list[dict[str, Any]] | None) -> str:
    """The result's text; a part that is none is named by its type."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(part["text"] if part.get("type") == "text" else f"[{part.get('type', 'data')}]" for part in content)
