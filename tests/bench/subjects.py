"""The ways to stream one model answer, from the raw engine to what a client reads. All on the same graph, with the same tokens."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from ag_ui.core import RunAgentInput, TextMessageContentEvent
from ag_ui.encoder import EventEncoder
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.stream import StreamChannel, StreamTransformer
from langgraph.stream._types import ProtocolEvent

from functions.runs import stream_graph_agui_events
from functions.runs.recording import Recorder
from functions.web.sse import encode

Subject = Callable[[Any, int], AsyncIterator[bytes]]
"""(compiled graph, number of the run) → what it would write to the wire, one item a step."""
Server = Callable[[Any, RunAgentInput], AsyncIterator[bytes]]
"""(compiled graph, a client's input) → its SSE frames."""


class TokenModel(BaseChatModel):
    """Says `tokens` short words as fast as it can."""

    tokens: int = 1_000

    @property
    def _llm_type(self) -> str:
        return "bench"

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("the benchmark streams")

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for number in range(self.tokens):
            await asyncio.sleep(0)  # a provider's stream waits for its socket: the reader gets its turn
            yield ChatGenerationChunk(message=AIMessageChunk(content=[{"type": "text", "text": f" word{number % 10}", "index": 0}]))


def answering_graph(tokens: int, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """START → one model call → END, with a checkpointer (default: in memory), as a chat has it."""
    return _answering(tokens).compile(checkpointer=checkpointer or InMemorySaver())


def nested_graph(tokens: int) -> Any:
    """The same answer by a graph inside a node: its events are attributed to a sub-agent."""
    graph = StateGraph(MessagesState)
    graph.add_node("assistant", _answering(tokens).compile())
    graph.add_edge(START, "assistant")
    return graph.compile(checkpointer=InMemorySaver())


def _answering(tokens: int) -> StateGraph[Any, Any, Any, Any]:
    model = TokenModel(tokens=tokens)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


FIRST_USER_MESSAGE = {"id": "u1", "role": "user", "content": "hi"}


def start(number: int) -> tuple[dict[str, Any], Any]:
    return {"messages": [HumanMessage("hi", id="u1")]}, {"configurable": {"thread_id": f"t{number}"}}


def run_input(number: int, messages: Sequence[Mapping[str, Any]] = (FIRST_USER_MESSAGE,), run: str = "r") -> RunAgentInput:
    """A client's input on the thread of that number."""
    ids = {"threadId": f"t{number}", "runId": f"{run}{number}"}
    rest: Mapping[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return RunAgentInput.model_validate({**ids, **rest, "messages": list(messages)})


FIRST_TOKEN = b"word0"
"""In the first chunk that carries the answer's first token (the drain says `.` for it)."""


async def raw_astream(graph: Any, number: int) -> AsyncIterator[bytes]:
    """`astream(stream_mode="messages")`: the engine without v3, nothing encoded."""
    graph_input, config = start(number)
    async for chunk, _ in graph.astream(graph_input, config, stream_mode="messages"):
        yield chunk.text.encode()


async def v3_drain(graph: Any, number: int) -> AsyncIterator[bytes]:
    """v3 protocol events read and thrown away: the floor of anything built on v3."""
    graph_input, config = start(number)
    async for event in await graph.astream_events(graph_input, config, version="v3"):
        if event["method"] == "messages":
            yield b"." if event["params"]["data"][0]["event"] == "content-block-delta" else b""


class BareTransformer(StreamTransformer):
    """Text deltas as typed events, no state, no guard: the least a projection can do."""

    required_stream_modes = ("messages", "tools", "custom", "values", "tasks")

    def init(self) -> dict[str, Any]:
        self._channel: StreamChannel[Any] = StreamChannel()
        return {"bare": self._channel}

    def process(self, event: ProtocolEvent) -> bool:
        if event["method"] == "messages":
            payload, metadata = event["params"]["data"]
            if isinstance(payload, dict) and payload.get("event") == "content-block-delta" and "text" in payload["delta"]:
                self._channel.push(TextMessageContentEvent(message_id=f"lc_run--{metadata['run_id']}", delta=payload["delta"]["text"]))
        return True


async def bare_transformer(graph: Any, number: int) -> AsyncIterator[bytes]:
    """A bare typed transformer with AG-UI's own `EventEncoder`."""
    graph_input, config = start(number)
    encoder = EventEncoder()
    run = await graph.astream_events(graph_input, config, version="v3", transformers=[BareTransformer])
    async for event in run.extensions["bare"]:
        yield encoder.encode(event).encode()


async def serve_ours(graph: Any, input: RunAgentInput) -> AsyncIterator[bytes]:
    """The whole run as served: orchestrator, projection, guard, SSE encoding."""
    recorder = Recorder(None, encode)
    async for event in stream_graph_agui_events(input, graph, agent="bench"):
        yield recorder.frame(event)


def as_subject(server: Server) -> Subject:
    """A server asked to say its words on a thread of its own."""
    return lambda graph, number: server(graph, run_input(number))


FLOOR, BARE, OURS = "v3 drain", "bare transformer", "this project"

SUBJECTS: dict[str, Subject] = {
    "raw astream": raw_astream,
    FLOOR: v3_drain,
    BARE: bare_transformer,
    OURS: as_subject(serve_ours),
}

warnings.filterwarnings("ignore", message="The v3 streaming protocol")
