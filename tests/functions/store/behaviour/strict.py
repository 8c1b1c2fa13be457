"""A process of its own for LANGGRAPH_STRICT_MSGPACK: runs a graph with own types up to a question, answers it through a fresh saver."""

from __future__ import annotations

import pickle
import sys
from decimal import Decimal
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from tests.functions.store.behaviour.stores import Saver, Store
from tests.support.checkpoints import config
from tests.support.graphs import Compiled, Money


class Order(BaseModel):
    price: Decimal


class State(TypedDict):
    money: Money
    order: Order


def graph(saver: Saver, paid: list[int]) -> Compiled:
    def quote(state: State) -> dict[str, Any]:
        return {"money": Money(7), "order": Order(price=Decimal("2.5"))}

    def pay(state: State) -> dict[str, Any]:
        interrupt({"price": state["money"].amount})
        paid.append(state["money"].amount)
        return {}

    builder = StateGraph(State).add_node("quote", quote).add_node("pay", pay)
    return builder.add_edge(START, "quote").add_edge("quote", "pay").compile(checkpointer=saver)


def main() -> None:
    store: Store = pickle.load(sys.stdin.buffer)
    paid: list[int] = []
    graph(store.saver(), paid).invoke({}, config("strict", None))
    done = graph(store.saver(), paid).invoke(Command(resume="yes"), config("strict", None))
    sys.stdout.write(f"{done['money']!r} {done['order']!r} {paid}\n")


if __name__ == "__main__":
    main()
