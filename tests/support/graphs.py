"""Small real graphs that need what a checkpointer has to give."""

from __future__ import annotations

import dataclasses
import operator
import random
import string
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send, interrupt

Compiled = CompiledStateGraph[Any, Any, Any, Any]


@dataclasses.dataclass
class Money:
    """A type of the application's own in the state."""

    amount: int


class Payment(TypedDict):
    price: Money
    log: Annotated[list[str], operator.add]


def approval(saver: BaseCheckpointSaver[Any], paid: list[int]) -> Compiled:
    """quote → ask (interrupts with the price) → pay (appends to `paid`: the side effect)."""

    def quote(state: Payment) -> dict[str, Any]:
        return {"price": Money(7), "log": ["quoted"]}

    def ask(state: Payment) -> dict[str, Any]:
        return {"log": [f"answered {interrupt({'price': state['price'].amount})}"]}

    def pay(state: Payment) -> dict[str, Any]:
        paid.append(state["price"].amount)
        return {"log": ["paid"]}

    builder = StateGraph(Payment)
    for node in (quote, ask, pay):
        builder.add_node(node)
    builder.add_edge(START, "quote").add_edge("quote", "ask").add_edge("ask", "pay")
    return builder.compile(checkpointer=saver)


def nested_approval(saver: BaseCheckpointSaver[Any], paid: list[int]) -> Compiled:
    """The same as a node of a parent that logs before and after."""
    builder = StateGraph(Payment)
    builder.add_node("before", lambda _: {"log": ["before"]})
    builder.add_node("child", approval(None, paid))  # type: ignore[arg-type]  # takes the parent's
    builder.add_node("after", lambda _: {"log": ["after"]})
    builder.add_edge(START, "before").add_edge("before", "child").add_edge("child", "after")
    return builder.compile(checkpointer=saver)


def tool_loop(saver: BaseCheckpointSaver[Any]) -> Compiled:
    """A model that calls two tools in parallel, twice, and then answers: five super-steps. Texts have 200 random characters, the
    same for the same call: tools run in threads, in any order."""

    def model(state: MessagesState) -> dict[str, Any]:
        turn = sum(isinstance(message, AIMessage) and bool(message.tool_calls) for message in state["messages"])
        calls = [{"name": name, "args": {"x": turn}, "id": f"{turn}-{name}"} for name in "ab"] if turn < 2 else []
        return {"messages": [AIMessage(text(random.Random(len(state["messages"]))), tool_calls=calls)]}

    def tool(call: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [ToolMessage(text(random.Random(call["id"])), tool_call_id=call["id"])]}

    def route(state: MessagesState) -> Any:
        last = state["messages"][-1]
        return [Send("tool", call) for call in last.tool_calls] if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tool", tool)  # type: ignore[arg-type]  # gets what Send carries
    builder.add_edge(START, "model").add_edge("tool", "model").add_conditional_edges("model", route)
    return builder.compile(checkpointer=saver)


def text(letters: random.Random) -> str:
    return "".join(letters.choice(string.ascii_lowercase + " ") for _ in range(200))


def messages(count: int) -> list[AnyMessage]:
    """A conversation of `count` messages that ends with the user's."""
    letters = random.Random(2)
    kinds: Sequence[Callable[[str], AnyMessage]] = (HumanMessage, AIMessage)
    return [kinds[(count - number) % 2 == 0](text(letters)) for number in range(count)]


def _concatenate(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(entry for write in writes for entry in write)]


class DeltaLog(TypedDict):
    log: Annotated[list[str], DeltaChannel(_concatenate, snapshot_frequency=10)]


def delta_log(saver: BaseCheckpointSaver[Any]) -> Compiled:
    """Two parallel nodes add to a log of which only the additions are stored, but for a snapshot every ten."""
    builder = StateGraph(DeltaLog)
    builder.add_node("left", lambda state: {"log": [f"left {len(state['log'])}"]})
    builder.add_node("right", lambda state: {"log": [f"right {len(state['log'])}"]})
    builder.add_edge(START, "left").add_edge(START, "right")
    return builder.compile(checkpointer=saver)


class FanOut(TypedDict):
    done: Annotated[list[int], operator.add]


def fan_out(saver: BaseCheckpointSaver[Any], failing: set[int], ran: list[int]) -> Compiled:
    """Sixty parallel tasks; those in `failing` raise."""

    def work(number: int) -> dict[str, Any]:
        if number in failing:
            raise RuntimeError(f"task {number} failed")
        ran.append(number)
        return {"done": [number]}

    builder = StateGraph(FanOut)
    builder.add_node("plan", lambda _: {})
    builder.add_node("work", work)  # type: ignore[arg-type]  # gets what Send carries
    builder.add_edge(START, "plan").add_conditional_edges("plan", lambda _: [Send("work", number) for number in range(60)])
    return builder.compile(checkpointer=saver)
