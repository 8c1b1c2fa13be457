"""The run that the savers are measured with: five super-steps, two tools at once twice, on a history of messages of 200 characters."""

from __future__ import annotations

import itertools
import random
import string
from typing import Any

from ag_ui.core import RunErrorEvent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

from functions.runs import stream_graph_agui_events
from functions.runs.lease import acquire
from graphs.messages import DeltaMessagesState
from tests.bench.subjects import run_input

CHARACTERS = 200
TOOLS = "ab"
ROUNDS = 2
PLAIN, DELTA = MessagesState, DeltaMessagesState
_letters = random.Random(1)
_numbers = itertools.count()


def text() -> str:
    """Letters by chance: the worst case for a saver that compresses."""
    return "".join(_letters.choices(string.ascii_lowercase + " ", k=CHARACTERS))


def working_graph(state: Any, saver: BaseCheckpointSaver[Any]) -> Any:
    """A model that calls two tools, twice, and then answers."""

    async def model(state: Any) -> dict[str, Any]:
        number = next(_numbers)
        calls = [{"name": name, "args": {}, "id": f"{number}-{name}"} for name in TOOLS] if _rounds(state["messages"]) < ROUNDS else []
        return {"messages": [AIMessage(text(), tool_calls=calls)]}

    async def tool(call: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [ToolMessage(text(), tool_call_id=call["id"])]}

    def route(state: Any) -> Any:
        return [Send("tool", call) for call in state["messages"][-1].tool_calls] or END

    graph = StateGraph(state)
    graph.add_node("model", model)
    graph.add_node("tool", tool)  # type: ignore[arg-type]  # gets what Send carries
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tool", END])
    graph.add_edge("tool", "model")
    return graph.compile(checkpointer=saver)


def _rounds(messages: list[BaseMessage]) -> int:
    """Rounds of tools since the last question."""
    turn = itertools.takewhile(lambda message: not isinstance(message, HumanMessage), reversed(messages))
    return sum(isinstance(message, AIMessage) for message in turn)


def history(messages: int) -> list[AnyMessage]:
    return [AIMessage(text()) if place % 2 else HumanMessage(text()) for place in range(messages)]


def thread(number: int) -> RunnableConfig:
    return {"configurable": {"thread_id": f"t{number}"}}


async def remember(graph: Any, number: int, messages: int) -> None:
    """Stores that many messages on the thread of that number."""
    await graph.aupdate_state(thread(number), {"messages": history(messages)}, as_node="model")


async def turn(graph: Any, number: int) -> None:
    """One question, as a program asks it. Every step is stored before the next begins."""
    await graph.ainvoke({"messages": [HumanMessage(text())]}, thread(number), durability="sync")


async def served_turn(graph: Any, number: int) -> None:
    """One question, as a client asks it: under the thread's lease, with the reads that plan the turn and end the stream."""
    question = {"id": f"q{next(_numbers)}", "role": "user", "content": text()}
    async for event in stream_graph_agui_events(run_input(number, [question], f"r{next(_numbers)}-"), graph, agent="bench"):
        if isinstance(event, RunErrorEvent):
            raise RuntimeError(event.message)


async def leased_turn(graph: Any, number: int) -> None:
    """The same question as `turn`, under the lease: by the clock this is its price, without the work of a stream beside it."""
    lease = await acquire(graph.checkpointer, f"t{number}", run_id=f"r{next(_numbers)}")
    try:
        await turn(graph.copy({"checkpointer": lease.checkpointer}), number)
    finally:
        await lease.release()
