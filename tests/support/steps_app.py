"""An agent whose run takes many steps, for runs that outlast their invocation: `say` STEPS words, one a step, each by a tool of its own.

`AGENTS_STEPS_FILE` gets a line for every tool that ran. A text `slow N` makes step N last for a minute.
"""

from __future__ import annotations

import asyncio
import operator
import os
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from functions.observing.middleware import Observing
from functions.settings import get_settings
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client
from functions.web.app import create_app
from tests.support.steps import SECONDS, STEPS


class State(MessagesState):
    steps: Annotated[int, operator.add]


def note(what: str) -> None:
    with Path(os.environ["AGENTS_STEPS_FILE"]).open("a", encoding="utf-8") as file:
        file.write(f"{what} {os.getpid()}\n")


async def step(state: State) -> dict[str, Any]:
    number = state.get("steps", 0) + 1
    said = str(next(message.text for message in reversed(state["messages"]) if message.type == "human"))
    slow = said == f"slow {number}"
    note(f"begun {number}")
    await asyncio.sleep(60 if slow else SECONDS)
    note(f"done {number}")
    return {"messages": [AIMessage(f"step {number}", id=f"step-{number}")], "steps": 1}


def more(state: State) -> str:
    return "step" if state["steps"] % STEPS else "__end__"


def graph(table_prefix: str) -> Any:
    builder: StateGraph[State, Any, Any, Any] = StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(START, "step").add_conditional_edges("step", more)
    return builder.compile(checkpointer=DynamoDBSaver(f"{table_prefix}checkpoints", client=dynamodb_client()))


settings = get_settings()
app = Observing(create_app("steps", settings, graph=graph(settings.table_prefix)), settings)
