"""A graph that was changed while a question was open, on the same threads: a clear end, nothing answered wrongly, the thread usable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from functions.runs.connect import connect_events
from functions.store.checkpoints import DynamoDBSaver
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, Run, cancelled, resolved, single


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


# the same node asks something else: with our saver, which knows the version of the code that ran last


class Asking:
    """A graph whose node asks `questions` one after the other, then acts; `heard` is what its nodes did in the end."""

    def __init__(self) -> None:
        self.heard: list[list[Any]] = []

    async def answers(self, questions: Sequence[Any]) -> Json:
        said = [interrupt(question) for question in questions]
        self.heard.append(said)
        return {"messages": [AIMessage(f"done: {said}")]}

    def graph(self, *questions: Any, nested: bool = False) -> StateGraph[Any, Any, Any, Any]:
        async def node(state: MessagesState) -> Json:
            return await self.answers(questions)

        inner = single(node)
        return single(inner.compile()) if nested else inner

    def parallel(self, **questions: str) -> StateGraph[Any, Any, Any, Any]:
        """One node for each, all in one step."""
        graph = StateGraph(MessagesState)
        for name, question in questions.items():

            async def node(state: MessagesState, question: str = question) -> Json:
                return await self.answers([question])

            graph.add_node(name, node)
            graph.add_edge(START, name)
        return graph


Asked = Callable[..., Awaitable[tuple[AgentThread, Run]]]


@pytest.fixture
def asked(thread: NewThread, table: DynamoDBSaver) -> Asked:
    """`asked(old graph, *answers)`: a thread of version 1 that was answered so far, and its last run."""

    async def ask(graph: StateGraph[Any, Any, Any, Any], *answers: str) -> tuple[AgentThread, Run]:
        talk = thread(graph, saver=table, code_version="1")
        run = await talk.say("go")
        for answer in answers:
            run = await talk.answer(resolved(run.interrupts[0]["id"], answer))
        return talk, run

    return ask


def deployed(talk: AgentThread, graph: StateGraph[Any, Any, Any, Any], thread: NewThread, version: str = "2") -> AgentThread:
    new = thread(graph, saver=talk.compiled().checkpointer, code_version=version)
    new.id, new.messages = talk.id, talk.messages
    return new


def questions(run: Run) -> list[Any]:
    return [one["metadata"]["payload"] for one in run.interrupts]


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
async def test_the_same_node_asks_something_else(nested: bool, asked: Asked, thread: NewThread) -> None:
    """The answer to the old question is ignored, by name; the new one is shown, and takes its own answer."""
    asking = Asking()
    talk, old = await asked(asking.graph("Delete A?", nested=nested))
    new = deployed(talk, asking.graph("Delete B?", nested=nested), thread)
    run = await new.answer(resolved(old.interrupts[0]["id"], "yes"))
    assert (questions(run), run.ignored, asking.heard) == (["Delete B?"], [old.interrupts[0]["id"]], [])
    assert run.of("CUSTOM")[0]["value"]["reason"] == "changed"
    assert (await new.answer(resolved(run.interrupts[0]["id"], "no"))).outcome == "success"
    assert asking.heard == [["no"]]


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
async def test_it_asks_the_same(nested: bool, asked: Asked, thread: NewThread) -> None:
    """Other code with the same questions takes the answer, and has not forgotten those before it."""
    asking = Asking()
    talk, old = await asked(asking.graph("A?", "B?", "C?", nested=nested), "a", "b")
    new = deployed(talk, asking.graph("A?", "B?", "C?", nested=nested), thread)
    run = await new.answer(resolved(old.interrupts[0]["id"], "c"))
    assert (run.outcome, asking.heard) == ("success", [["a", "b", "c"]])


CHANGED: dict[str, tuple[list[str], list[str]]] = {
    "the first": (["A2?", "B?", "C?"], ["A2?", "B?", "C?"]),
    "one in the middle": (["A?", "B2?", "C?"], ["B2?", "C?"]),
    "a new first": (["New?", "A?", "B?", "C?"], ["New?", "A?", "B?", "C?"]),
    "the first is gone": (["B?", "C?"], ["B?", "C?"]),
}


@pytest.mark.parametrize(("now", "open_"), CHANGED.values(), ids=CHANGED)
async def test_an_earlier_question_of_the_node_changed(now: list[str], open_: list[str], asked: Asked, thread: NewThread) -> None:
    """From the first question on that is another one all are asked again; no answer goes to a question that it was not given to."""
    asking = Asking()
    talk, old = await asked(asking.graph("A?", "B?", "C?"), "a", "b")
    new = deployed(talk, asking.graph(*now), thread)
    run = await new.answer(resolved(old.interrupts[0]["id"], "c"))
    seen = []
    while run.outcome == "interrupt":
        seen += questions(run)
        run = await new.answer(resolved(run.interrupts[0]["id"], f"new {questions(run)[0]}"))
    kept = [f"{question[0].lower()}" for question in now[: len(now) - len(open_)]]
    assert (seen, asking.heard) == (open_, [[*kept, *(f"new {question}" for question in open_)]])


async def test_one_of_two_nodes_changed(asked: Asked, thread: NewThread) -> None:
    """Of two answers the one whose question is the same is taken, the other question is shown anew."""
    asking = Asking()
    talk, old = await asked(asking.parallel(left="Left?", right="Right?"))
    new = deployed(talk, asking.parallel(left="Left?", right="Other?"), thread)
    ids = {one["metadata"]["payload"]: one["id"] for one in old.interrupts}
    run = await new.answer(resolved(ids["Left?"], "l"), resolved(ids["Right?"], "r"))
    assert (questions(run), run.ignored, asking.heard) == (["Other?"], [ids["Right?"]], [["l"]])
    await new.answer(resolved(run.interrupts[0]["id"], "o"))
    assert asking.heard == [["l"], ["o"]]


async def test_it_asks_no_more_with_our_saver(asked: Asked, thread: NewThread) -> None:
    """A node that needs no answer now has run; the answer was heard by nobody."""
    asking = Asking()
    talk, old = await asked(asking.graph("A?"))
    run = await deployed(talk, asking.graph(), thread).answer(resolved(old.interrupts[0]["id"], "a"))
    assert (run.outcome, run.ignored, asking.heard) == ("success", [old.interrupts[0]["id"]], [[]])


async def test_a_message_brings_the_new_question(asked: Asked, thread: NewThread) -> None:
    """Also a text beside it shows what is asked now, and the answer to that is taken at once."""
    asking = Asking()
    talk, _ = await asked(asking.graph("A?"))
    new = deployed(talk, asking.graph("A2?"), thread)
    run = await new.say("hello?")
    assert questions(run) == ["A2?"]
    assert (await new.answer(resolved(run.interrupts[0]["id"], "a2"))).outcome == "success"
    assert asking.heard == [["a2"]]


async def test_the_changed_node_fails(asked: Asked, thread: NewThread) -> None:
    """Nothing is answered; the next version is asked again."""
    asking = Asking()
    talk, old = await asked(asking.graph("A?"))
    question = old.interrupts[0]["id"]

    async def broken(state: MessagesState) -> Json:
        raise ValueError("not yet")

    failed = await deployed(talk, single(broken), thread).answer(resolved(question, "a"))
    assert failed.end["type"] == "RUN_ERROR"
    mended = await deployed(talk, asking.graph("A2?"), thread, "3").answer(resolved(question, "a"))
    assert (questions(mended), asking.heard) == (["A2?"], [])


async def test_an_unknown_version_asks_nothing_again(asked: Asked, thread: NewThread) -> None:
    """Where the version is not told, the node hears the answer, as LangGraph gives it."""
    asking = Asking()
    talk, old = await asked(asking.graph("A?"))
    run = await deployed(talk, asking.graph("A2?"), thread, "").answer(resolved(old.interrupts[0]["id"], "a"))
    assert (run.outcome, asking.heard) == ("success", [["a"]])
