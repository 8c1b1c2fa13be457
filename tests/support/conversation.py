"""One thread of a graph, driven as the orchestrator drives it: v3 runs, answers by interrupt id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.stream import ProtocolEvent, StreamTransformer
from langgraph.types import Command, Interrupt


class _Modes(StreamTransformer):
    """Asks for the modes that a bare v3 run leaves out."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages", "custom", "tools")

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: ProtocolEvent) -> bool:
        return True


class Conversation:
    """`events` keeps the data of every `messages`, `custom` and `tools` event of all runs; `configurable` goes along with each run."""

    def __init__(self, graph: StateGraph[Any, Any, Any, Any], *, recursion_limit: int = 50, **configurable: Any) -> None:
        self._graph = graph.compile(checkpointer=InMemorySaver())
        self.config = RunnableConfig(configurable={"thread_id": str(uuid4()), **configurable}, recursion_limit=recursion_limit)
        self.events: list[tuple[str, Any]] = []

    async def run(self, graph_input: Any) -> list[Interrupt]:
        """One run; the interrupts it ended with. Raises what the graph raises."""
        run = await self._graph.astream_events(graph_input, self.config, version="v3", transformers=[_Modes])
        async for event in run:
            if event["method"] in ("messages", "custom", "tools"):
                data = event["params"]["data"]
                self.events.append((event["method"], data[0] if isinstance(data, tuple) else data))
        return list(await run.interrupts())

    async def say(self, text: str, **state: Any) -> list[Interrupt]:
        """A user message, and other state with it."""
        return await self.run({"messages": [("user", text)], **state})

    async def answer(self, answers: Mapping[str, Any]) -> list[Interrupt]:
        """Answers by interrupt id."""
        return await self.run(Command(resume=dict(answers)))

    async def pending(self) -> list[Interrupt]:
        """What is open now, as the checkpoint says."""
        return list((await self._graph.aget_state(self.config)).interrupts)

    async def state(self) -> dict[str, Any]:
        """The thread's values."""
        values: dict[str, Any] = (await self._graph.aget_state(self.config)).values
        return values

    async def messages(self) -> list[BaseMessage]:
        """The thread's messages."""
        messages: list[BaseMessage] = (await self.state())["messages"]
        return messages

    def deltas(self, kind: str) -> list[str]:
        """The pieces streamed so far: kind `text`, `reasoning` or `args`."""
        deltas = [data["delta"] for method, data in self.events if method == "messages" and "delta" in data]
        return [delta[kind] for delta in deltas if kind in delta]
