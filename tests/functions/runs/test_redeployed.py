"""A graph that was changed while a question was open, on the same threads: a clear end, nothing answered wrongly, the thread usable."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from functions.runs.connect import connect_events
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, Run, cancelled, resolved


class Order(MessagesState, total=False):
    item: str
    note: str


class Smaller(MessagesState, total=False):
    item: str


class Other(MessagesState, total=False):
    item: list[str]


class Deeds:
    """What the graphs did; `version` says which one."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def graph(self, version: str, ask: str | None = "ask", state: Any = Order, question: bool = True) -> StateGraph[Any, Any, Any, Any]:
        """take → `ask` (asks, then acts); `ask` None: the graph ends after `take`."""

        async def take(state: Order) -> Json:
            return {"item": "tea", "messages": [AIMessage(f"{version} took it")]}

        async def act(state: Order) -> Json:
            answer = interrupt(f"{version}?") if question else "unasked"
            self.done.append(f"{version}: {answer}")
            return {"messages": [AIMessage(f"{version} did it")]}

        graph = StateGraph(state)
        graph.add_node("take", take)
        graph.add_edge(START, "take")
        if ask is not None:
            graph.add_node(ask, act)
            graph.add_edge("take", ask)
        return graph


def redeployed(old: AgentThread, graph: StateGraph[Any, Any, Any, Any], thread: NewThread, saver: InMemorySaver) -> AgentThread:
    """The same client on the same thread, another graph behind it."""
    new = thread(graph, saver=saver)
    new.id, new.messages = old.id, old.messages
    return new


async def opened(thread: NewThread, deeds: Deeds, saver: InMemorySaver) -> tuple[AgentThread, str]:
    talk = thread(deeds.graph("old"), saver=saver)
    asked = await talk.say("tea please")
    return talk, asked.interrupts[0]["id"]


GONE: dict[str, str | None] = {"the node was renamed": "confirm", "the node was removed": None}


@pytest.mark.parametrize("ask", GONE.values(), ids=GONE)
async def test_the_asking_node_is_gone(ask: str | None, thread: NewThread) -> None:
    """The question is no longer open: the answer is ignored, by name, and nothing is done; the next message starts a turn."""
    deeds, saver = Deeds(), InMemorySaver()
    old, question = await opened(thread, deeds, saver)
    new = redeployed(old, deeds.graph("new", ask), thread, saver)
    run = await new.answer(resolved(question, "yes"))
    assert (run.outcome, run.ignored, deeds.done) == ("success", [question], [])
    again = await new.say("coffee then")
    assert (again.outcome, deeds.done) == ("interrupt" if ask else "success", [])
    if ask:
        assert again.interrupts[0]["metadata"]["payload"] == "new?"
        await new.answer(resolved(again.interrupts[0]["id"], "yes"))
        assert deeds.done == ["new: yes"]


@pytest.mark.parametrize("ask", GONE.values(), ids=GONE)
async def test_connect_to_a_thread_whose_node_is_gone(ask: str | None, thread: NewThread) -> None:
    """A reload shows no question that nobody waits for."""
    deeds, saver = Deeds(), InMemorySaver()
    old, _ = await opened(thread, deeds, saver)
    new = redeployed(old, deeds.graph("new", ask), thread, saver)
    events = await connect_events(new.compiled(), new.id, None)
    shown = Run([e.model_dump(mode="json", by_alias=True) for e in events])
    assert (shown.outcome, [m["content"] for m in shown.snapshot]) == ("success", ["tea please", "old took it"])


@pytest.mark.parametrize("how", ["resolved", "cancelled"])
async def test_the_node_asks_no_longer(how: str, thread: NewThread) -> None:
    """The question is still in the checkpoint; answering it lets the node run, which needs no answer now."""
    deeds, saver = Deeds(), InMemorySaver()
    old, question = await opened(thread, deeds, saver)
    new = redeployed(old, deeds.graph("new", question=False), thread, saver)
    run = await new.answer(resolved(question, "yes") if how == "resolved" else cancelled(question))
    assert (run.outcome, deeds.done) == ("success", ["new: unasked"])
    assert (await new.say("more")).outcome == "success"


async def test_a_message_while_the_changed_node_waits(thread: NewThread) -> None:
    """As long as the checkpoint has a question, a message is not taken for its answer."""
    deeds, saver = Deeds(), InMemorySaver()
    old, question = await opened(thread, deeds, saver)
    new = redeployed(old, deeds.graph("new", question=False), thread, saver)
    waiting = await new.say("hello?")
    assert ([i["id"] for i in waiting.interrupts], deeds.done) == ([question], [])


STATES: dict[str, Any] = {"a key was removed": Smaller, "a key has another type": Other}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
async def test_the_state_was_changed(state: Any, thread: NewThread) -> None:
    """The question is answered by who asked for it; what the state no longer has is not shown."""
    deeds, saver = Deeds(), InMemorySaver()
    old, question = await opened(thread, deeds, saver)
    new = redeployed(old, deeds.graph("new", state=state), thread, saver)
    run = await new.answer(resolved(question, "yes"), state={"note": "x", "item": "tea"})
    assert (run.outcome, deeds.done, run.client_state) == ("success", ["new: yes"], {"item": "tea"})
    assert (await new.say("more")).outcome == "interrupt"


async def test_other_nodes_around_it(thread: NewThread) -> None:
    """A node before it is gone, one behind it is new: the answer goes where it belongs, then the new way."""
    deeds, saver = Deeds(), InMemorySaver()
    old, question = await opened(thread, deeds, saver)

    async def after(state: Order) -> Json:
        return {"messages": [AIMessage("and more")]}

    graph = deeds.graph("new")
    graph.add_node("after", after)
    graph.add_edge("ask", "after")
    run = await redeployed(old, graph, thread, saver).answer(resolved(question, "yes"))
    assert (deeds.done, [m["content"] for m in run.snapshot]) == (["new: yes"], ["tea please", "old took it", "new did it", "and more"])
