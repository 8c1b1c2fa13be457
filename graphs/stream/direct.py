"""A model that a node calls with `.stream()` or `.astream()`: its chunks onto the `messages` channel, where those of `ainvoke` go unasked.

Under v3 LangGraph's message handler listens to protocol events, which only `invoke` and `ainvoke` make; a direct stream makes
`on_llm_new_token` callbacks, and without this its text would arrive in one piece at the end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models._compat_bridge import achunks_to_events
from langchain_core.outputs import ChatGenerationChunk
from langgraph.config import get_config
from langgraph.pregel._messages import StreamMessagesHandlerV2

Emit = Callable[[dict[str, Any]], None]


class DirectStreams:
    """The direct streams of one run. The callbacks of the run call `token` and `end`."""

    def __init__(self) -> None:
        self._first: dict[UUID, ChatGenerationChunk] = {}
        self._open: dict[UUID, DirectStream | None] = {}

    def token(self, run_id: UUID, chunk: ChatGenerationChunk) -> None:
        """A chunk of the model call `run_id`.

        Some providers call back for `ainvoke` too. There LangGraph gets a protocol event after each chunk, so it knows the call when the
        second comes: until then the first waits.
        """
        if run_id in self._open:
            if stream := self._open[run_id]:
                stream.push(chunk)
        elif run_id not in self._first:
            self._first[run_id] = chunk
        else:
            emit = _emitter(run_id)
            stream = self._open[run_id] = DirectStream(emit) if emit else None
            if stream:
                stream.push(self._first[run_id])
                stream.push(chunk)

    def open(self, run_id: UUID) -> DirectStream | None:
        """The stream of a call that is not over."""
        return self._open.get(run_id)

    def end(self, run_id: UUID, *, failed: bool = False) -> DirectStream | None:
        """The call is over. Returns its stream, if it was a direct one."""
        self._first.pop(run_id, None)
        stream = self._open.pop(run_id, None)
        if stream:
            stream.end(failed=failed)
        return stream


class DirectStream:
    """One model call. `message_id` is the one its events carry, `text` what they said so far."""

    def __init__(self, emit: Emit) -> None:
        self.message_id: str | None = None
        self._emit = emit
        self._said: list[str] = []
        # LangChain's own translation pulls chunks from an iterator; here they are pushed, so the coroutine is driven by hand
        self._translation: Coroutine[Any, ChatGenerationChunk | None, None] = self._translate()
        self._translation.send(None)

    @property
    def text(self) -> str:
        return "".join(self._said)

    def push(self, chunk: ChatGenerationChunk) -> None:
        self._translation.send(chunk)

    def end(self, *, failed: bool) -> None:
        """Finishes what is open; a failed call says nothing of it, as `ainvoke` does."""
        try:
            if failed:
                self._translation.throw(_Left())
            else:
                self._translation.send(None)
        except StopIteration:
            return

    async def _translate(self) -> None:
        try:
            async for event in achunks_to_events(_pushed()):
                self._pass_on(dict(event))
        except _Left:
            return

    def _pass_on(self, event: dict[str, Any]) -> None:
        if event["event"] == "message-start":
            self.message_id = event["id"]
        elif event["event"] == "content-block-delta" and event["delta"]["type"] == "text-delta":
            self._said.append(event["delta"]["text"])
        self._emit(event)


class _Left(Exception):
    """The call failed: ends the translation where it waits. (Closing it would leave its generators to the event loop.)"""


class _Next:
    def __await__(self) -> Generator[None, ChatGenerationChunk | None, ChatGenerationChunk | None]:
        return (yield)


async def _pushed() -> AsyncIterator[ChatGenerationChunk]:
    while (chunk := await _Next()) is not None:
        yield chunk


def _emitter(run_id: UUID) -> Emit | None:
    """Where the events of a call go; None for one that LangGraph streams itself, that is muted, or that nobody listens to."""
    try:
        callbacks = get_config().get("callbacks")
    except RuntimeError:  # called outside a node
        return None
    handlers = [
        handler
        for handler in (callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or ())
        if isinstance(handler, StreamMessagesHandlerV2) and run_id in handler.metadata and run_id not in handler._streamed_run_ids
    ]

    def emit(event: dict[str, Any]) -> None:
        for handler in handlers:
            handler.on_stream_event(event, run_id=run_id)

    return emit if handlers else None
