"""The message history of which checkpoints hold only what was added, beside LangGraph's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite, interrupt

from graphs.catalog import AGENTS, Deps
from graphs.messages import SNAPSHOT_EVERY, DeltaMessagesState, with_system
from graphs.models import make_model

Graph = Any


def channel() -> DeltaChannel[Any]:
    found = StateGraph(DeltaMessagesState).channels["messages"]
    assert isinstance(found, DeltaChannel)
    return found


def told(messages: Sequence[BaseMessage]) -> list[tuple[str, Any, Any]]:
    return [(message.type, message.id, message.content) for message in messages]


# the reducer: what a batch makes of a history must not depend on where batches begin

IDS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.text(max_size=3)
NAMED = st.builds(lambda text, own_id: HumanMessage(text, id=own_id), TEXTS, IDS)
REPLY = st.builds(lambda text, own_id: AIMessage(text, id=own_id), TEXTS, IDS)
UNNAMED = st.builds(lambda text: HumanMessage(text), TEXTS)
REMOVED = st.builds(lambda own_id: RemoveMessage(id=own_id), IDS)
EMPTIED = st.just(RemoveMessage(id=REMOVE_ALL_MESSAGES))
MESSAGE = st.one_of(NAMED, REPLY, UNNAMED, REMOVED, EMPTIED)
WRITE = st.one_of(MESSAGE, st.lists(MESSAGE, max_size=4))
STATE = st.lists(st.one_of(NAMED, REPLY, UNNAMED), max_size=4, unique_by=lambda message: message.id or id(message))
"""A history as the reducer makes it: an id is there once."""


@given(STATE, st.lists(WRITE, max_size=4), st.lists(WRITE, max_size=4))
def test_two_batches_are_one(state: list[Any], first: list[Any], second: list[Any]) -> None:
    """f(f(s, a), b) = f(s, a + b): removals, the removal of all, replacing by id, missing ids, messages alone and in lists."""
    reduce = channel().reducer
    assert told(reduce(reduce(state, first), second)) == told(reduce(state, [*first, *second]))


STEP = st.one_of(st.lists(WRITE, min_size=1, max_size=3), st.builds(lambda state: [Overwrite(state)], STATE))
"""The writes of one super-step. (Beside an `Overwrite` LangGraph drops the step's other writes, and stores the whole.)"""


@given(STATE, st.lists(STEP, max_size=5))
def test_replay_is_what_was_lived(state: list[Any], steps: list[list[Any]]) -> None:
    """The history rebuilt from all writes at once is the one that was made step by step, `Overwrite` included."""
    lived, replayed = (channel().from_checkpoint(_DeltaSnapshot(list(state))) for _ in range(2))
    for writes in steps:
        lived.update(writes)
    replayed.replay_writes([("task", "messages", value) for writes in steps for value in writes])
    assert told(replayed.get()) == told(lived.get())


# in a graph, beside MessagesState


def saying(state: Any, saver: BaseCheckpointSaver[Any]) -> Graph:
    """A node that says what it is told to, whatever that is."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state, context_schema=Any)
    builder.add_node("say", lambda state, runtime: {"messages": runtime.context["say"]})
    builder.add_edge(START, "say")
    return builder.compile(checkpointer=saver)


AT: Any = {"configurable": {"thread_id": "t"}}


def on_both(*runs: tuple[Any, Any]) -> tuple[Graph, Graph]:
    """The same runs (input, what the node says) with LangGraph's state and with ours."""
    plain, delta = saying(MessagesState, InMemorySaver()), saying(DeltaMessagesState, InMemorySaver())
    for graph in (plain, delta):
        for graph_input, said in runs:
            graph.invoke({"messages": graph_input}, AT, context={"say": said})
    return plain, delta


SAME: dict[str, list[tuple[Any, Any]]] = {
    "plain turns": [([HumanMessage("a", id="1")], [AIMessage("b", id="2")]), ([HumanMessage("c", id="3")], [AIMessage("d", id="4")])],
    "one message, not a list": [(HumanMessage("a", id="1"), AIMessage("b", id="2"))],
    "replaced by id": [([HumanMessage("a", id="1")], [HumanMessage("A", id="1"), AIMessage("b", id="2")])],
    "removed": [([HumanMessage("a", id="1"), HumanMessage("b", id="2")], [RemoveMessage(id="1")])],
    "all removed": [([HumanMessage("a", id="1")], [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("b", id="2")])],
    "overwritten": [([HumanMessage("a", id="1")], Overwrite([AIMessage("b", id="2")])), ([HumanMessage("c", id="3")], [])],
    "removed and said again": [([HumanMessage("a", id="1"), HumanMessage("b", id="2")], [RemoveMessage(id="1")]), ([("user", "c")], [])],
}


@pytest.mark.parametrize("runs", SAME.values(), ids=SAME)
def test_the_same_history_as_messages_state(runs: list[tuple[Any, Any]]) -> None:
    """What a graph does to its messages has the same outcome with either state."""
    plain, delta = (graph.get_state(AT).values["messages"] for graph in on_both(*runs))
    assert [(kind, content) for kind, _, content in told(delta)] == [(kind, content) for kind, _, content in told(plain)]


FORMS: dict[str, Any] = {
    "text": "a",
    "texts": ["a", "b"],
    "pairs": [("user", "a"), ("assistant", "b")],
    "dicts": [{"role": "user", "content": "a"}],
    "messages": [HumanMessage("a")],
    "an Overwrite": Overwrite([("user", "a")]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_message_has_an_id_that_stays(form: Any) -> None:
    """In whatever form it is given, and however often the history is rebuilt from what was written."""
    _, delta = on_both((form, form))
    first, second = (delta.get_state(AT).values["messages"] for _ in range(2))
    assert all(message.id for message in first)
    assert told(first) == told(second)
    assert len({message.id for message in first}) == len(first)


# what is stored


def stored(saver: BaseCheckpointSaver[Any]) -> Iterator[Any]:
    """What the checkpoints hold for the messages, oldest first."""
    for found in reversed(list(saver.list(AT))):
        yield found.checkpoint["channel_values"].get("messages")


def test_a_checkpoint_holds_all_messages_once_in_so_many_updates() -> None:
    """Between two of those it holds none: a step's bytes do not grow with the thread."""
    saver = InMemorySaver()
    graph = saying(DeltaMessagesState, saver)
    for turn in range(SNAPSHOT_EVERY):
        graph.invoke({"messages": [HumanMessage("a", id=f"q{turn}")]}, AT, context={"say": [AIMessage("b", id=f"a{turn}")]})
    # InMemorySaver shows a value with every later checkpoint until it changes
    whole = {len(value.value) for value in stored(saver) if value is not None}
    assert whole == {SNAPSHOT_EVERY, 2 * SNAPSHOT_EVERY}
    assert len(graph.get_state(AT).values["messages"]) == 2 * SNAPSHOT_EVERY


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_stores_its_history_so(name: str) -> None:
    """The messages of each agent of the catalog are a delta channel."""
    built = AGENTS[name].build(Deps(make_model("offline")))
    assert built.channels["messages"] == channel()


# threads that were stored before, and a step back


def asking(state: Any, saver: BaseCheckpointSaver[Any]) -> Graph:
    """Says something, asks, says the answer."""

    def ask(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(f"you said {interrupt('?')}")]}

    builder = StateGraph(state)
    builder.add_node("say", lambda _: {"messages": [AIMessage("let me ask")]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "say").add_edge("say", "ask")
    return builder.compile(checkpointer=saver)


def texts(graph: Graph, at: Any = AT) -> list[str]:
    return [message.text for message in graph.get_state(at).values["messages"]]


CHANGES = {"to deltas": (MessagesState, DeltaMessagesState), "and back": (DeltaMessagesState, MessagesState)}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_thread_of_the_version_before(before: Any, after: Any) -> None:
    """A deployment (or its roll-back) between two turns, or while a question is open: the thread is read and goes on, and its past too."""
    saver = InMemorySaver()
    old, new = asking(before, saver), asking(after, saver)
    old.invoke({"messages": [("user", "one")]}, AT)
    old.invoke(Command(resume="yes"), AT)
    old.invoke({"messages": [("user", "two")]}, AT)
    said = ["one", "let me ask", "you said yes", "two", "let me ask"]
    assert texts(new) == said
    new.invoke(Command(resume="no"), AT)
    new.invoke({"messages": [("user", "three")]}, AT)
    new.invoke(Command(resume="maybe"), AT)
    assert texts(new) == [*said, "you said no", "three", "let me ask", "you said maybe"]
    assert texts(old) == texts(new)
    for state in old.get_state_history(AT):
        assert told(new.get_state(state.config).values.get("messages", [])) == told(state.values.get("messages", []))


def test_the_prompt_is_not_part_of_the_history() -> None:
    """It goes in front for one call, unless the history has one of its own."""
    history = [HumanMessage("a")]
    assert with_system("p", history) == [SystemMessage("p"), *history]
    assert with_system("p", [SystemMessage("own"), *history]) == [SystemMessage("own"), *history]
