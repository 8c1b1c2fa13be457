"""The state between the steps of a run, shared both ways: what the client has in the end is what the checkpoint has."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from graphs.models import ScriptedModel
from graphs.scripted import chunks_of
from graphs.stream import write_agui_event
from graphs.tools import route_tools, tool_node
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, calling, resolved, single


class Plan(MessagesState, total=False):
    steps: Annotated[list[str], operator.add]
    meta: Json
    secret: str


def planning() -> StateGraph[Any, Any, Any, Any]:
    """Three steps: a plan, a change deep inside it, a note that no client sees."""

    async def first(state: Plan) -> Json:
        return {"steps": ["look"], "meta": {"a/b": {"done": 0, "of": 2}}, "messages": [AIMessage("on it", id="m1")]}

    async def second(state: Plan) -> Json:
        return {"steps": ["leap"], "meta": {"a/b": {"done": 1, "of": 2}}}

    async def third(state: Plan) -> Json:
        return {"secret": "s"}

    graph = StateGraph(Plan)
    graph.add_sequence([("first", first), ("second", second), ("third", third)])
    graph.add_edge(START, "first")
    return graph


@pytest.mark.parametrize("keys", [("steps", "meta"), ("meta",)])
async def test_deltas_between_steps(keys: tuple[str, ...], thread: NewThread) -> None:
    """A patch after each step that changed a public key; before the first the state it patches; at the end the whole."""
    run = await thread(planning(), state_keys=keys).say("go")
    whole = {"steps": ["look", "leap"], "meta": {"a/b": {"done": 1, "of": 2}}}
    assert run.client_state == run.state == {k: v for k, v in whole.items() if k in keys}
    assert run.state_changes[0] == ({"steps": []} if "steps" in keys else {})
    second = [{"op": "add", "path": "/steps/1", "value": "leap"}] if "steps" in keys else []
    assert run.state_changes[-2] == [*second, {"op": "replace", "path": "/meta/a~1b/done", "value": 1}]
    assert len(run.state_changes) == 4


async def test_deltas_come_between_the_steps(thread: NewThread) -> None:
    """What a step changed is told before the next one starts."""
    run = await thread(planning(), state_keys=("meta",)).say("go")
    kinds = [e["type"] for e in run.events if e["type"] in ("STATE_DELTA", "STEP_STARTED", "STEP_FINISHED")]
    assert kinds == ["STEP_STARTED", "STEP_FINISHED", "STATE_DELTA"] * 2 + ["STEP_STARTED", "STEP_FINISHED"]


async def test_without_names_every_output_key(thread: NewThread) -> None:
    """What the graph calls its output, without the messages: the same in patches, in the snapshot, and in the next run."""

    class Out(MessagesState, total=False):
        meta: Json

    async def node(state: Plan) -> Json:
        return {"secret": "s", "meta": {"n": len(state["messages"])}}

    graph = StateGraph(Plan, output_schema=Out)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    talk = thread(graph)
    first = await talk.say("a")
    second = await talk.say("b", state=first.client_state)
    assert (first.client_state, second.client_state) == ({"meta": {"n": 1}}, {"meta": {"n": 2}})
    assert second.state_changes[1] == [{"op": "replace", "path": "/meta/n", "value": 2}]


async def test_a_client_without_state(thread: NewThread) -> None:
    """Some send null: the first snapshot makes a state to patch."""
    run = await thread(planning(), state_keys=("meta",)).say("go", state=None)
    assert run.client_state == {"meta": {"a/b": {"done": 1, "of": 2}}}


async def test_a_question_between_the_steps(thread: NewThread) -> None:
    """The state before the question, then the answer's change on top of what the client has."""

    async def node(state: Plan) -> Json:
        return {"meta": {"answer": interrupt("?")}}

    async def before(state: Plan) -> Json:
        return {"steps": ["ask"]}

    graph = StateGraph(Plan)
    graph.add_sequence([("before", before), ("node", node)])
    graph.add_edge(START, "before")
    talk = thread(graph, state_keys=("steps", "meta"))
    asked = await talk.say("go")
    assert asked.client_state == asked.state == {"steps": ["ask"]}
    run = await talk.answer(resolved(asked.interrupts[0]["id"], "yes"), state=asked.client_state)
    assert run.state_changes[:2] == [{"steps": ["ask"]}, [{"op": "add", "path": "/meta", "value": {"answer": "yes"}}]]
    assert run.client_state == run.state == {"steps": ["ask"], "meta": {"answer": "yes"}}


# -- what the client changes


async def test_the_client_replaces_a_list(thread: NewThread) -> None:
    """Shared state is the value itself: a reducer that adds up would double the list."""
    talk = thread(planning(), state_keys=("steps",))
    first = await talk.say("go")
    run = await talk.say("again", state={"steps": ["mine"]})
    assert (first.state["steps"], run.state["steps"]) == (["look", "leap"], ["mine", "look", "leap"])
    untouched = await talk.say("again", state=run.client_state)
    assert untouched.state["steps"] == [*run.state["steps"], "look", "leap"]


class Point(BaseModel):
    x: int


class Typed(MessagesState, total=False):
    point: Point
    flag: Any


async def test_an_unchanged_object_stays_what_it_is(thread: NewThread) -> None:
    """The client sends back the JSON form of a model: that is no change. True for 1 is one."""
    seen: list[Any] = []

    async def node(state: Typed) -> Json:
        seen.append((type(state.get("point")), state.get("flag")))
        return {"point": Point(x=1)} if "point" not in state else {}

    talk = thread(single(node, Typed), state_keys=("point", "flag"))
    first = await talk.say("a", state={"flag": 1})
    await talk.say("b", state={**first.client_state, "flag": True})
    assert seen[1] == (Point, True)
    assert seen[1][1] is True


async def test_the_client_changes_state_beside_an_answer(thread: NewThread) -> None:
    """The node that goes on sees the change, and the question it answered is the same; what is not public stays."""
    seen: list[Json] = []

    async def node(state: Plan) -> Json:
        answer = interrupt("?")
        seen.append({k: v for k, v in state.items() if k != "messages"})
        return {"meta": {**state.get("meta", {}), "answer": answer}}

    async def before(state: Plan) -> Json:
        return {"steps": ["a"], "meta": {"text": "draft"}, "secret": "s"}

    graph = StateGraph(Plan)
    graph.add_sequence([("before", before), ("node", node)])
    graph.add_edge(START, "before")
    talk = thread(graph, state_keys=("steps", "meta"))
    asked = await talk.say("go")
    given = {"steps": ["b"], "meta": {"text": "edited"}, "secret": "mine"}
    run = await talk.answer(resolved(asked.interrupts[0]["id"], 1), state=given)
    assert seen == [{"steps": ["b"], "meta": {"text": "edited"}, "secret": "s"}]
    assert run.client_state == run.state == {"steps": ["b"], "meta": {"text": "edited", "answer": 1}}


async def test_changes_beside_several_answers(thread: NewThread, caplog: pytest.LogCaptureFixture) -> None:
    """The questions of one step take one change of a key: a second one is not taken, and the thread lives."""

    async def node(state: Plan) -> Json:
        first, second = interrupt("one?"), interrupt("two?")
        return {"messages": [AIMessage(f"{first}{second} {state['steps']} {state['meta']}", id="m1")]}

    talk = thread(single(node, Plan), state_keys=("steps", "meta"))
    asked = await talk.say("go")
    again = await talk.answer(resolved(asked.interrupts[0]["id"], 1), state={"steps": ["a"]})
    assert again.state == {"steps": ["a"]}
    run = await talk.answer(resolved(again.interrupts[0]["id"], 2), state={"steps": ["b"], "meta": {"x": 1}})
    assert (run.outcome, run.text) == ("success", "12 ['a'] {'x': 1}")
    assert "the client changed steps again" in caplog.text
    assert (await talk.say("more", state={"steps": ["c"], "meta": {"x": 1}})).state["steps"] == ["c"]


async def test_a_resume_that_failed_is_sent_again(thread: NewThread) -> None:
    """With the same change beside it: it counts once."""
    fails, seen = iter([True]), []

    async def node(state: Plan) -> Json:
        answer = interrupt("?")
        seen.append((answer, state["steps"]))
        if next(fails, False):
            raise TimeoutError
        return {"steps": ["done"]}

    talk = thread(single(node, Plan), state_keys=("steps",))
    asked = await talk.say("go")
    entry = resolved(asked.interrupts[0]["id"], 1)
    assert (await talk.answer(entry, state={"steps": ["b"]})).outcome == "UPSTREAM_TIMEOUT"
    run = await talk.answer(entry, state={"steps": ["b"]})
    assert (run.outcome, run.state, seen) == ("success", {"steps": ["b", "done"]}, [(1, ["b"])] * 2)


async def test_a_client_cannot_set_the_messages(thread: NewThread) -> None:
    """Not even where an agent names them as a public key."""
    talk = thread(planning(), state_keys=("messages", "meta"))
    run = await talk.say("go", state={"messages": [{"role": "user", "content": "forged"}]})
    assert [m["content"] for m in run.snapshot] == ["go", "on it"]
    assert "messages" not in run.state


async def test_an_edit_goes_back_to_its_state(thread: NewThread) -> None:
    """The branch starts with the state of that time, and the client learns it before the first change."""

    async def node(state: Plan) -> Json:
        return {"steps": [state["messages"][-1].text]}

    talk = thread(single(node, Plan), state_keys=("steps",))
    await talk.say("a")
    second = await talk.say("b")
    talk.messages = [talk.messages[0], {**talk.messages[1], "content": "edited"}]
    run = await talk.run(state=second.state)
    assert run.state_changes == [{"steps": ["a"]}, [{"op": "add", "path": "/steps/1", "value": "edited"}], {"steps": ["a", "edited"]}]


async def test_native_state_beside_the_graphs(thread: NewThread) -> None:
    """A node's own progress is patched on top, the graph's keys win at the end of the step; a patch that does not apply is refused."""

    async def node(state: Plan) -> Json:
        for done in (1, 2):
            write_agui_event({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/meta", "value": {"done": done}}]})
        write_agui_event({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/nowhere", "value": 1}]})
        return {"meta": {"done": 3}}

    run = await thread(single(node, Plan), state_keys=("meta",)).say("go")
    assert [e["value"]["type"] for e in run.of("CUSTOM")] == ["STATE_DELTA"]
    assert [c[0]["value"] for c in run.state_changes if isinstance(c, list)] == [{"done": 1}, {"done": 2}, 3]
    assert run.client_state == run.state == {"meta": {"done": 3}}


# -- predictions


class Document(MessagesState, total=False):
    draft: str


@tool
def write(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write the document."""
    return Command(update={"draft": text.upper(), "messages": [ToolMessage("written", tool_call_id=tool_call_id)]})


def writing(*turns: Any) -> StateGraph[Any, Any, Any, Any]:
    model = ScriptedModel(turns=list(turns))

    async def ask(state: Document) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(Document)
    graph.add_node("model", ask)
    graph.add_node("tools", tool_node([write]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route_tools("tools"))
    graph.add_edge("tools", "model")
    return graph


PREDICT = [("write", "text", "draft")]


async def test_predicted_state(thread: NewThread) -> None:
    """The draft grows while the model writes it; the tool's own result replaces it; without the option nothing is predicted."""
    turns = [calling(("write", {"text": "a b c"})), "done"]
    run = await thread(writing(*turns), state_keys=("draft",), predict_state=PREDICT).say("go")
    values = [change[0]["value"] for change in run.state_changes if isinstance(change, list)]
    assert values == ["", "a", "a b", "a b c", "A B C"]
    assert run.state_changes[0] == {}
    assert run.client_state == run.state == {"draft": "A B C"}
    plain = await thread(writing(*turns), state_keys=("draft",)).say("go")
    assert plain.state_changes == [{}, [{"op": "add", "path": "/draft", "value": "A B C"}], {"draft": "A B C"}]


async def test_a_prediction_of_a_run_that_fails(thread: NewThread) -> None:
    """What did not happen is taken back before the error."""
    cut = [*chunks_of(calling(("write", {"text": "a b"})))[:-1], TimeoutError()]
    run = await thread(writing(cut), state_keys=("draft",), predict_state=PREDICT).say("go")
    assert (run.outcome, run.client_state) == ("UPSTREAM_TIMEOUT", {})
    assert len(run.of("STATE_DELTA")) >= 2
