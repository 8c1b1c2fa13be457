"""A client on one thread of a graph: it keeps what snapshots say, sends its history with every run, and has every stream checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import jsonpatch
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from functions.runs import stream_graph_agui_events
from tests.support.protocol import line
from tests.support.streams import StreamRecorder

Json = dict[str, Any]


def single(node: Any, state: Any = MessagesState, **settings: Any) -> StateGraph[Any, Any, Any, Any]:
    """A graph of one node, `node`."""
    graph = StateGraph(state)
    graph.add_node("node", node, **settings)
    graph.add_edge(START, "node")
    return graph


def calling(*calls: tuple[str, Json], text: str = "", ids: Sequence[str] | None = None) -> AIMessage:
    """A model's turn with calls `c0`, `c1` … of (name, arguments)."""
    names = ids or [f"c{i}" for i in range(len(calls))]
    return AIMessage(
        text, tool_calls=[{"name": n, "args": a, "id": i, "type": "tool_call"} for i, (n, a) in zip(names, calls, strict=True)]
    )


def resolved(interrupt_id: str, *payload: Any) -> Json:
    return {"interruptId": interrupt_id, "status": "resolved"} | ({"payload": payload[0]} if payload else {})


def cancelled(interrupt_id: str) -> Json:
    return {"interruptId": interrupt_id, "status": "cancelled"}


class Run:
    """The events of one run in wire shape."""

    def __init__(self, events: Sequence[Json]) -> None:
        self.events = list(events)

    def of(self, *types: str) -> list[Json]:
        return [e for e in self.events if e["type"] in types]

    @property
    def types(self) -> list[str]:
        return [e["type"] for e in self.events]

    @property
    def lines(self) -> list[str]:
        """Without the start, which echoes the input."""
        return [line(e) for e in self.events[1:]]

    @property
    def text(self) -> str:
        return "".join(e["delta"] for e in self.of("TEXT_MESSAGE_CONTENT"))

    @property
    def end(self) -> Json:
        return self.events[-1]

    @property
    def outcome(self) -> str:
        """The outcome's type, or the error's code."""
        return str(self.end["outcome"]["type"] if self.end["type"] == "RUN_FINISHED" else self.end["code"])

    @property
    def interrupts(self) -> list[Json]:
        return list(self.end["outcome"].get("interrupts", ()))

    @property
    def results(self) -> dict[str, str]:
        """Call id → content."""
        return {e["toolCallId"]: e["content"] for e in self.of("TOOL_CALL_RESULT")}

    @property
    def snapshot(self) -> list[Json]:
        """The messages as the run left them."""
        return list(self.of("MESSAGES_SNAPSHOT")[-1]["messages"])

    @property
    def state(self) -> Json:
        return dict(self.of("STATE_SNAPSHOT")[-1]["snapshot"])

    @property
    def client_state(self) -> Any:
        """What a client has in the end: `input.state`, then what the stream's snapshots and patches made of it."""
        state = self.events[0]["input"].get("state")
        for event in self.of("STATE_SNAPSHOT", "STATE_DELTA"):
            state = event["snapshot"] if event["type"] == "STATE_SNAPSHOT" else jsonpatch.apply_patch(state, event["delta"])
        return state

    @property
    def state_changes(self) -> list[Any]:
        """Snapshots as they are, a patch as its list of operations."""
        return [e.get("snapshot", e.get("delta")) for e in self.of("STATE_SNAPSHOT", "STATE_DELTA")]

    @property
    def ignored(self) -> list[str]:
        """Interrupt ids of answers that answered nothing."""
        return [e["value"]["interruptId"] for e in self.of("CUSTOM") if e["name"] == "resume_ignored"]


class AgentThread:
    """`graph` is compiled again for each run, on the same saver, as another worker would. `settings` go to `stream_graph_agui_events`."""

    def __init__(
        self,
        recorder: StreamRecorder,
        graph: StateGraph[Any, Any, Any, Any],
        *,
        saver: BaseCheckpointSaver[Any] | None = None,
        compile: Mapping[str, Any] | None = None,
        version: str | None = "1.0",
        **settings: Any,
    ) -> None:
        self._recorder, self._builder, self.settings = recorder, graph, settings
        self._compile = {"checkpointer": saver or InMemorySaver(), **(compile or {})}
        self._version = version
        self.id = str(uuid4())
        self.messages: list[Json] = []

    def graph(self, graph: StateGraph[Any, Any, Any, Any]) -> None:
        """From now on the thread is served by `graph`."""
        self._builder = graph

    def compiled(self) -> Any:
        return self._builder.compile(**self._compile)

    async def stored(self) -> list[Any]:
        """The checkpoint's messages."""
        state = await self.compiled().aget_state({"configurable": {"thread_id": self.id}})
        return list(state.values.get("messages", ()))

    def input(self, run_id: str | None = None, **fields: Any) -> RunAgentInput:
        """What the client would send now."""
        empty: Json = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
        version = {"protocolVersion": self._version} if self._version else {}
        sent = {"threadId": self.id, "runId": run_id or str(uuid4()), "messages": self.messages, **empty, **version, **fields}
        return RunAgentInput.model_validate(sent)

    async def say(self, text: Any, **fields: Any) -> Run:
        self.messages = [*self.messages, {"id": str(uuid4()), "role": "user", "content": text}]
        return await self.run(**fields)

    async def answer(self, *entries: Json, **fields: Any) -> Run:
        return await self.run(resume=list(entries), **fields)

    async def run(self, run_id: str | None = None, *, transient: Sequence[str] = (), **fields: Any) -> Run:
        given = self.input(run_id, **fields)
        stream = stream_graph_agui_events(given, self.compiled(), agent="test", **self.settings)
        events = [event.model_dump(mode="json", by_alias=True) async for event in stream]
        self._recorder.record("run", given.model_dump(mode="json", by_alias=True), events, transient=transient)
        run = Run(events)
        if "MESSAGES_SNAPSHOT" in run.types:
            self.messages = run.snapshot
        return run
