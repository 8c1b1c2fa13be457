"""Graphs that the behaviours run, beside those of `tests.support.graphs`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from tests.functions.store.behaviour.stores import Saver
from tests.support.graphs import Compiled


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def line(saver: Saver | None, *nodes: Callable[[Any], Any] | tuple[str, Any], **options: Any) -> Compiled:
    """The nodes one after another, each by its function's name; `options` are those of `compile`."""
    builder = StateGraph(Log)
    named: list[tuple[str, Any]] = [node if isinstance(node, tuple) else (node.__name__, node) for node in nodes]
    for name, node in named:
        builder.add_node(name, node)
    for earlier, later in zip([START, *(name for name, _ in named)], [name for name, _ in named], strict=False):
        builder.add_edge(earlier, later)
    return builder.compile(checkpointer=saver, **options)


def saying(*names: str) -> list[tuple[str, Any]]:
    """Nodes that log their name."""
    return [(name, lambda _, name=name: {"log": [name]}) for name in names]


def counted(name: str, ran: list[str]) -> tuple[str, Any]:
    """A node whose every run is an entry in `ran`."""

    def node(_: Any) -> dict[str, Any]:
        ran.append(name)
        return {"log": [name]}

    return name, node


def asking(name: str, question: str) -> tuple[str, Any]:
    """A node that interrupts with the question and logs the answer."""
    return name, lambda _: {"log": [f"{name}: {interrupt(question)}"]}


def remembering(saver: Saver) -> Compiled:
    """A sub-graph that counts its own visits, which are no part of the parent's state."""

    class Visits(TypedDict):
        visits: Annotated[int, operator.add]

    child = StateGraph(Visits).add_node("visit", lambda _: {"visits": 1}).add_edge(START, "visit").compile(checkpointer=True)
    return line(saver, ("child", lambda _: {"log": [f"visit {child.invoke({'visits': 0})['visits']}"]}))


def many_asking(saver: Saver, count: int) -> Compiled:
    """Tasks side by side, each with a question of its own."""
    builder = StateGraph(Log)
    builder.add_node("plan", lambda _: {})
    builder.add_node("ask", lambda number: {"log": [f"{number}: {interrupt(number)}"]})
    builder.add_edge(START, "plan").add_conditional_edges("plan", lambda _: [Send("ask", number) for number in range(count)])
    return builder.compile(checkpointer=saver)


def paying(saver: Saver, ran: list[str]) -> Any:
    """The functional API: two tasks with side effects around a question; the result is the next call's `previous`."""

    @task
    def step(name: str) -> str:
        ran.append(name)
        return f"done {name}"

    @entrypoint(checkpointer=saver)
    def pay(order: str, *, previous: list[str] | None = None) -> Any:
        quoted = step(f"quote {order}").result()
        answer = interrupt(quoted)
        paid = step(f"pay {order}").result()
        return entrypoint.final(value=[quoted, answer, paid, previous], save=[*(previous or []), order])

    return pay
