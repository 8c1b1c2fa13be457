"""The `messages` channel → TEXT_MESSAGE_*, REASONING_MESSAGE_* and the announcing half of TOOL_CALL_*.

State is kept per model call (`metadata["run_id"]`) and block index, so models that stream at once never mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from langchain_core.messages import AIMessage

from graphs.stream.blocks import media_activity, server_result
from graphs.stream.jsonable import args_text, utf8
from graphs.stream.ledger import CallLedger, generated_call_id

Events = Iterator[BaseEvent]

_SERVER_CALLS = frozenset({"server_tool_call", "server_tool_call_chunk"})
_CALL_STARTS = _SERVER_CALLS | {"tool_call_chunk"}
"""Blocks that say at their start which call they are; a whole `tool_call` is announced at its finish, with its arguments."""


@dataclass(slots=True)
class ModelMessage:
    """One assistant message on its way: what of it is open."""

    id: str
    owner: str | None
    task: str = ""
    text_open: bool = False
    reasoning: tuple[int, str] | None = None
    reasoning_ids: dict[int, str] = field(default_factory=dict)
    closed_reasoning: set[str] = field(default_factory=set)
    streamed: set[int] = field(default_factory=set)
    calls: dict[int, str] = field(default_factory=dict)
    call_count: int = 0


class MessageMapper:
    """One per run. `map` takes the channel's `(payload, metadata)` and the sub-agent that owns it."""

    def __init__(self, ledger: CallLedger) -> None:
        self._ledger = ledger
        self._by_run: dict[str, ModelMessage] = {}
        self._seen: set[str] = set()

    def map(self, data: tuple[Any, Mapping[str, Any]], owner: str | None) -> Iterable[BaseEvent]:
        # no generator, nor is `_route`: each would be one more frame that every token passes
        payload, metadata = data
        if not isinstance(payload, dict):
            return self._whole(payload, owner) if isinstance(payload, AIMessage) else ()
        run_id = str(metadata.get("run_id", ""))
        if payload.get("event") == "message-start":
            self._start(payload, run_id, owner, str(metadata.get("langgraph_checkpoint_ns", "")))
            return ()
        message = self._by_run.get(run_id)
        return self._route(message, payload, run_id) if message else ()

    def know(self, message_id: str) -> None:
        """A message of the thread's history: a node that returns it again must not append its text to it."""
        self._seen.add(message_id)

    def end_task(self, task_id: str) -> Events:
        """What the models of a task left open: one that failed says nothing of it on this channel."""
        for run_id in [r for r, message in self._by_run.items() if message.task == task_id]:
            yield from self._finish(self._by_run.pop(run_id))

    def forget_open(self) -> None:
        """The run failed or ended: what was open is closed by the lifecycle."""
        self._by_run.clear()

    def _start(self, payload: Mapping[str, Any], run_id: str, owner: str | None, namespace: str) -> None:
        message_id = str(payload.get("id") or f"lc_run--{run_id}")
        if payload.get("role", "ai") != "ai" or message_id in self._seen:
            return
        self._seen.add(message_id)
        self._by_run[run_id] = ModelMessage(message_id, owner, namespace.rpartition(":")[2])

    def _route(self, message: ModelMessage, payload: Mapping[str, Any], run_id: str) -> Iterable[BaseEvent]:
        kind = payload["event"]
        if kind == "content-block-delta":
            delta = payload["delta"]
            mapped = self._DELTAS.get(delta["type"])
            return mapped(self, message, payload["index"], delta) if mapped else ()
        if kind == "content-block-start":
            return self._block_start(message, payload["index"], payload["content"])
        if kind == "content-block-finish":
            return self._block_finish(message, payload["index"], payload["content"])
        if kind in ("message-finish", "error"):
            return self._finish(self._by_run.pop(run_id))
        return ()

    # -- blocks

    def _block_start(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        kind = content["type"]
        if kind == "reasoning":
            yield from self._open_reasoning(message, index)
            yield from self._reasoning_delta(message, index, content)
            return
        yield from self._close_reasoning(message)
        if kind == "text":
            yield from self._text_delta(message, index, content)
        elif kind in _CALL_STARTS and content.get("name") and content.get("id"):
            # without name or id it waits for its finish, which has what came later: an id made up now might not be the stored one
            yield from self._open_call(message, index, content)

    def _block_finish(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        if mapped := self._FINISHES.get(content["type"]):
            yield from mapped(self, message, index, content)

    # -- text

    def _text_delta(self, message: ModelMessage, index: int, delta: Mapping[str, Any]) -> Events:
        text = delta.get("text")
        if not text:
            return
        if message.reasoning:
            yield from self._close_reasoning(message)
        message.streamed.add(index)
        if not message.text_open:
            message.text_open = True
            yield TextMessageStartEvent(message_id=message.id, role="assistant", subagent_run_id=message.owner)
        yield TextMessageContentEvent(message_id=message.id, delta=utf8(text), subagent_run_id=message.owner)

    def _text_finish(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        if index not in message.streamed:
            yield from self._text_delta(message, index, content)

    # -- reasoning

    def _open_reasoning(self, message: ModelMessage, index: int) -> Events:
        if message.reasoning and message.reasoning[0] == index:
            return
        yield from self._close_reasoning(message)
        reasoning_id = _fresh_reasoning_id(message, index)
        message.reasoning = (index, reasoning_id)
        message.reasoning_ids[index] = reasoning_id
        yield ReasoningMessageStartEvent(message_id=reasoning_id, role="reasoning", subagent_run_id=message.owner)

    def _reasoning_delta(self, message: ModelMessage, index: int, delta: Mapping[str, Any]) -> Events:
        text = delta.get("reasoning")
        if not text:
            return
        yield from self._open_reasoning(message, index)
        message.streamed.add(index)
        yield ReasoningMessageContentEvent(message_id=message.reasoning_ids[index], delta=utf8(text), subagent_run_id=message.owner)

    def _reasoning_finish(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        if index not in message.streamed:
            yield from self._reasoning_delta(message, index, content)
        signature = (content.get("extras") or {}).get("signature")
        if signature and index not in message.reasoning_ids:
            yield from self._open_reasoning(message, index)
        if message.reasoning and message.reasoning[0] == index:
            yield from self._close_reasoning(message)
        if signature:
            yield ReasoningEncryptedValueEvent(
                subtype="message",
                entity_id=message.reasoning_ids[index],
                encrypted_value=str(signature),
                subagent_run_id=message.owner,
            )

    def _close_reasoning(self, message: ModelMessage) -> Events:
        if message.reasoning:
            reasoning_id = message.reasoning[1]
            message.reasoning = None
            message.closed_reasoning.add(reasoning_id)
            yield ReasoningMessageEndEvent(message_id=reasoning_id, subagent_run_id=message.owner)

    # -- tool calls

    def _open_call(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        # a provider's own tool answers in the same message: the ledger, which waits for ToolMessages, has no business with it
        wire = content["id"] if content["type"] in _SERVER_CALLS else self._ledger.announce(content["id"], message.owner)
        message.calls[index] = wire
        yield ToolCallStartEvent(
            tool_call_id=wire,
            tool_call_name=content.get("name") or "unknown",
            parent_message_id=message.id,
            subagent_run_id=message.owner,
        )
        yield from self._call_delta(message, index, content)

    def _call_delta(self, message: ModelMessage, index: int, delta: Mapping[str, Any]) -> Events:
        args = delta.get("args")
        wire = message.calls.get(index)
        if wire and args and isinstance(args, str):
            message.streamed.add(index)
            yield ToolCallArgsEvent(tool_call_id=wire, delta=utf8(args), subagent_run_id=message.owner)

    def _call_finish(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        message.call_count += content["type"] == "tool_call"
        wire = message.calls.get(index)
        if wire is None:
            yield from self._close_reasoning(message)
            whole = {**content, "id": content.get("id") or _made_up_id(message, index, content), "args": args_text(content.get("args"))}
            yield from self._open_call(message, index, whole)
            wire = message.calls[index]
        elif index not in message.streamed:
            yield from self._call_delta(message, index, {"args": args_text(content.get("args"))})
        if content["type"] == "invalid_tool_call":
            self._ledger.answer(wire)
        del message.calls[index]
        yield ToolCallEndEvent(tool_call_id=wire, subagent_run_id=message.owner)

    # -- what the provider did itself

    def _server_call_finish(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        if index in message.calls or content.get("id"):
            yield from self._call_finish(message, index, content)

    def _server_result(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        call_id = content.get("tool_call_id")
        for at in [i for i, wire in message.calls.items() if wire == call_id]:
            del message.calls[at]
            yield ToolCallEndEvent(tool_call_id=str(call_id), subagent_run_id=message.owner)
        if call_id:
            yield server_result(message.id, content, message.owner)

    def _media(self, message: ModelMessage, index: int, content: Mapping[str, Any]) -> Events:
        activity = media_activity(message.id, index, content, message.owner)
        if activity is not None:
            yield activity

    # -- the end

    def _finish(self, message: ModelMessage) -> Events:
        yield from self._close_reasoning(message)
        if message.text_open:
            message.text_open = False
            yield TextMessageEndEvent(message_id=message.id, subagent_run_id=message.owner)
        for wire in message.calls.values():
            yield ToolCallEndEvent(tool_call_id=wire, subagent_run_id=message.owner)
        message.calls.clear()

    def _whole(self, stored: AIMessage, owner: str | None) -> Events:
        """A message that a node returned without streaming it: the same events, expanded."""
        message = ModelMessage(stored.id or "", owner)
        if not message.id or message.id in self._seen:
            return
        self._seen.add(message.id)
        invalid = [{**call, "type": "invalid_tool_call"} for call in stored.invalid_tool_calls]
        for index, block in enumerate([*stored.content_blocks, *invalid]):
            yield from self._block_finish(message, index, block)
        yield from self._finish(message)

    _FINISHES: Mapping[str, Callable[[MessageMapper, ModelMessage, int, Mapping[str, Any]], Events]] = {
        "text": _text_finish,
        "reasoning": _reasoning_finish,
        "tool_call": _call_finish,
        "invalid_tool_call": _call_finish,
        "server_tool_call": _server_call_finish,
        "server_tool_result": _server_result,
        **dict.fromkeys(("image", "audio", "video", "file"), _media),
    }
    _DELTAS: Mapping[str, Callable[[MessageMapper, ModelMessage, int, Mapping[str, Any]], Events]] = {
        "text-delta": _text_delta,
        "reasoning-delta": _reasoning_delta,
        "tool-call-delta": _call_delta,
    }


def _made_up_id(message: ModelMessage, index: int, content: Mapping[str, Any]) -> str:
    """The id that `MessageIdentity` stores, by the call's position among the message's calls; one that failed to parse is not stored."""
    if content["type"] == "tool_call":
        return generated_call_id(message.id, message.call_count)
    return f"{generated_call_id(message.id, index)}:invalid"


def _fresh_reasoning_id(message: ModelMessage, index: int) -> str:
    """`<message id>:reasoning:<index>`, then `.1`, `.2` when the block goes on after it was closed."""
    first = f"{message.id}:reasoning:{index}"
    again = sum(1 for closed in message.closed_reasoning if closed == first or closed.startswith(f"{first}."))
    return f"{first}.{again}" if again else first
