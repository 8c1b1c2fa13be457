"""A graph that streams what a story says, through LangGraph's real mux, to the real orchestrator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.stream._mux import StreamMux
from langgraph.stream.run_stream import AsyncGraphRunStream
from langgraph.types import StateSnapshot

from functions.runs.orchestrator import AgentRun
from tests.support.possible_events import QUESTION, Story
from tests.support.recording import Recording, recording


class ReplayedGraph:
    """As much of a compiled graph as a run asks for; its checkpoint is the story's history before the run, and its end after it."""

    checkpointer = True
    channels: dict[str, Any] = {"messages": None}  # noqa: RUF012 - an attribute of the graph it stands for
    output_channels = ("messages",)

    def __init__(self, story: Story) -> None:
        self._story = story
        self._ran = False

    async def aget_state(self, config: Any) -> StateSnapshot:
        story = self._story
        messages = story.stored if self._ran else story.history
        open_now = story.interrupts if self._ran else (QUESTION,) if story.asked_before else ()
        return StateSnapshot({"messages": messages}, (), config, {}, "now", None, (), open_now)

    async def aget_state_history(self, config: Any, **_: Any) -> AsyncIterator[StateSnapshot]:
        nothing: tuple[StateSnapshot, ...] = ()
        for snapshot in nothing:
            yield snapshot

    async def astream_events(self, given: Any, config: Any, *, transformers: Any = None, **_: Any) -> AsyncGraphRunStream:
        self._ran = True
        return AsyncGraphRunStream(self._parts(), StreamMux(factories=list(transformers or ()), is_async=True, scope=()))

    async def _parts(self) -> AsyncIterator[Any]:
        for part in self._story.parts:
            yield part
        if self._story.error is not None:
            raise self._story.error


async def streamed(story: Story) -> Recording:
    """The story's run as it was sent. Texts of messages that the state never got are transient."""
    given: RunAgentInput = story.input()
    graph: Any = ReplayedGraph(story)
    events = [e.model_dump(mode="json", by_alias=True) async for e in AgentRun(given, graph, agent="a").events()]
    texts: dict[str, str] = {}
    for event in events:
        if event["type"] in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT") and event["messageId"] not in story.kept:
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    return recording(given, events, transient=texts.values())
