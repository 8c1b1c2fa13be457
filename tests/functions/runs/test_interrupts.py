"""Questions and answers over several runs, each on a freshly compiled graph: the checkpoint is the truth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel

from functions.runs.connect import connect_events
from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, Run, calling, cancelled, resolved, single
from tests.support.small_graphs import react
from tests.support.streams import StreamRecorder

REFUSED = {"approved": False, "reason": "用户取消"}
CANCELLED = {"cancelled": True, "reason": "用户取消"}


class Heard:
    """What a node was answered, and how often what comes after the question ran."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def node(self, payload: Any, **settings: Any) -> Any:
        async def ask(state: MessagesState) -> Json:
            self.answers.append(interrupt(payload, **settings))
            return {"messages": [AIMessage("thanks", id=f"m{len(self.answers)}")]}

        return ask


def asking(heard: Heard, payload: Any = "Sure?", **settings: Any) -> StateGraph[Any, Any, Any, Any]:
    return single(heard.node(payload, **settings))


def several(heard: Heard, *names: str) -> StateGraph[Any, Any, Any, Any]:
    """One task a question, in one super-step."""

    async def ask(name: str) -> Json:
        heard.answers.append((name, interrupt({"type": "select", "message": name})))
        return {}

    node: Any = ask  # what it gets is not the state but what `Send` says
    graph = StateGraph(MessagesState)
    graph.add_node("fan", lambda _: {})
    graph.add_node("ask", node)
    graph.add_edge(START, "fan")
    graph.add_conditional_edges("fan", lambda _: [Send("ask", name) for name in names], ["ask"])
    return graph


def ids(run: Run) -> list[str]:
    return [i["id"] for i in run.interrupts]


async def test_ask_and_answer(thread: NewThread) -> None:
    """The run ends at the question, state and messages before the end; the answer goes on from the checkpoint."""
    heard = Heard()
    talk = thread(asking(heard, {"type": "approval", "message": "Sure?"}))
    asked = await talk.say("go")
    assert asked.types[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    (shown,) = asked.interrupts
    assert (shown["reason"], shown["message"]) == ("confirmation", "Sure?")
    answered = await talk.answer(resolved(shown["id"], {"approved": True}))
    assert heard.answers == [{"approved": True}]
    assert (answered.outcome, answered.text) == ("success", "thanks")


FALSY: list[Any] = ["", 0, False, None, [], {}]


@pytest.mark.parametrize("payload", [*FALSY, "x", {"interruptId": "y"}, {"a" * 32: 1}])
async def test_any_json_is_an_answer(payload: Any, thread: NewThread) -> None:
    """Empty, false and null too, and what looks like LangGraph's own map."""
    talk = thread(asking(heard := Heard()))
    await talk.answer(resolved(ids(await talk.say("go"))[0], payload))
    assert heard.answers == [payload]


async def test_an_answer_without_payload_is_null(thread: NewThread) -> None:
    """Not "no resume"."""
    talk = thread(asking(heard := Heard()))
    assert (await talk.answer(resolved(ids(await talk.say("go"))[0]))).outcome == "success"
    assert heard.answers == [None]


@pytest.mark.parametrize(("payload", "value"), [({"type": "approval"}, REFUSED), ({"type": "select"}, CANCELLED), ("Sure?", CANCELLED)])
async def test_cancelled(payload: Any, value: Any, thread: NewThread) -> None:
    """Each kind has its own refusal."""
    talk = thread(asking(heard := Heard(), payload))
    assert (await talk.answer(cancelled(ids(await talk.say("go"))[0]))).outcome == "success"
    assert heard.answers == [value]


async def test_an_unknown_id_answers_nothing(thread: NewThread) -> None:
    """Alone, and beside the right one: it is named as ignored, and never taken for the bare answer."""
    talk = thread(asking(heard := Heard()))
    (open_id,) = ids(await talk.say("go"))
    alone = await talk.answer(resolved("nonsense", "x"))
    assert (alone.ignored, alone.outcome, ids(alone), heard.answers) == (["nonsense"], "interrupt", [open_id], [])
    beside = await talk.answer(resolved("nonsense", "x"), resolved(open_id, "y"))
    assert (beside.ignored, beside.outcome, heard.answers) == (["nonsense"], "success", ["y"])


async def test_several_questions_at_once(thread: NewThread) -> None:
    """All of them in one outcome; all answered in one run, each its own answer; some cancelled."""
    talk = thread(several(heard := Heard(), "a", "b", "c"))
    asked = await talk.say("go")
    assert [i["message"] for i in asked.interrupts] == ["a", "b", "c"]
    a, b, c = ids(asked)
    assert (await talk.answer(resolved(c, 3), cancelled(b), resolved(a, 1))).outcome == "success"
    assert sorted(heard.answers, key=str) == [("a", 1), ("b", CANCELLED), ("c", 3)]


async def test_a_part_of_the_questions(thread: NewThread) -> None:
    """The covered ones run, the others stay open under the same ids."""
    talk = thread(several(heard := Heard(), "a", "b"))
    a, b = ids(await talk.say("go"))
    part = await talk.answer(resolved(b, 2))
    assert (part.outcome, ids(part), heard.answers) == ("interrupt", [a], [("b", 2)])
    assert (await talk.answer(resolved(a, 1))).outcome == "success"
    assert sorted(heard.answers) == [("a", 1), ("b", 2)]


async def test_the_same_answer_twice(thread: NewThread) -> None:
    """A double click runs nothing again: ignored, and how the thread stands. Another answer to it is too late."""
    talk = thread(asking(heard := Heard()))
    (open_id,) = ids(await talk.say("go"))
    await talk.answer(resolved(open_id, {"a": [1, 2], "b": None}))
    twice = await talk.answer(resolved(open_id, {"b": None, "a": [1, 2]}))
    assert (twice.ignored, twice.outcome, len(heard.answers)) == ([open_id], "success", 1)
    for other in (resolved(open_id, "other"), cancelled(open_id)):
        assert (await talk.answer(other)).outcome == "ALREADY_ANSWERED"
    assert len(heard.answers) == 1


async def test_an_old_answer_beside_a_new_question(thread: NewThread) -> None:
    """A stale id would answer whatever waits in that task now: it must not."""

    async def node(state: MessagesState) -> Json:
        first = interrupt("one?")
        return {"messages": [AIMessage(f"{first} {interrupt('two?')}", id="m")]}

    talk = thread(single(node))
    (one,) = ids(await talk.say("go"))
    (two,) = ids(await talk.answer(resolved(one, "1")))
    stale = await talk.answer(resolved(one, "1"))
    assert stale.outcome == "interrupt"
    if one != two:
        assert stale.ignored == [one]
    assert (await talk.answer(resolved(two, "2"))).text == "1 2"


class Choice(BaseModel):
    pick: Literal["a", "b"]


async def test_an_answer_of_another_form(thread: NewThread) -> None:
    """INVALID_RESUME and the question stays open; a good answer then is heard, as the node asked for it; a refusal has its own form."""
    talk = thread(asking(heard := Heard(), response_schema=Choice))
    (open_id,) = ids(asked := await talk.say("go"))
    assert asked.interrupts[0]["responseSchema"]["properties"]["pick"]["enum"] == ["a", "b"]
    for bad in (resolved(open_id, {"pick": "z"}), resolved(open_id), cancelled(open_id)):
        refused = await talk.answer(bad)
        assert (refused.outcome, heard.answers) == ("INVALID_RESUME", [])
    assert ids(await talk.run()) == [open_id]
    assert (await talk.answer(resolved(open_id, {"pick": "b"}))).outcome == "success"
    assert heard.answers == [Choice(pick="b")]


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"pattern": "("}, {"$ref": "#/nowhere"}])
async def test_a_schema_that_is_none(schema: Json, thread: NewThread) -> None:
    """A question whose schema cannot be used is checked by its node alone."""
    talk = thread(asking(heard := Heard(), {"responseSchema": schema}))
    assert (await talk.answer(resolved(ids(await talk.say("go"))[0], "x"))).outcome == "success"
    assert heard.answers == ["x"]


@pytest.mark.parametrize(("seconds", "outcome"), [(-1, "INVALID_RESUME"), (600, "success")])
@pytest.mark.parametrize("zone", [UTC, None])
async def test_expiry(seconds: int, outcome: str, zone: Any, thread: NewThread) -> None:
    """After it a question can only be cancelled; a time without zone is UTC."""
    moment = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(tzinfo=zone)
    talk = thread(asking(heard := Heard(), {"type": "approval", "expiresAt": moment.isoformat()}))
    (open_id,) = ids(await talk.say("go"))
    assert (await talk.answer(resolved(open_id, "late"))).outcome == outcome
    if outcome != "success":
        assert (await talk.answer(cancelled(open_id))).outcome == "success"
        assert heard.answers == [REFUSED]


async def test_an_unreadable_expiry_does_not_expire(thread: NewThread) -> None:
    """It is a node's mistake, not the user's."""
    talk = thread(asking(Heard(), {"expiresAt": "tomorrow"}))
    assert (await talk.answer(resolved(ids(await talk.say("go"))[0], "x"))).outcome == "success"


async def test_a_message_while_a_question_is_open(thread: NewThread) -> None:
    """Not stored, not taken for an answer, not lost on the screen; it is taken with the next run that can."""
    talk = thread(asking(heard := Heard()))
    (open_id,) = ids(await talk.say("go"))
    ignored = await talk.say("and another thing")
    assert (ignored.outcome, ids(ignored), heard.answers) == ("interrupt", [open_id], [])
    assert [m["content"] for m in ignored.snapshot] == ["go", "and another thing"]
    assert [m.text for m in await talk.stored()] == ["go"]
    answered = await talk.answer(resolved(open_id, "yes"))
    assert [m["content"] for m in answered.snapshot] == ["go", "thanks", "and another thing"]
    assert [m.text for m in await talk.stored()] == ["go", "thanks"]


async def test_a_message_beside_a_part_of_the_answers(thread: NewThread) -> None:
    """The same: the covered question runs, the message waits."""
    talk = thread(several(heard := Heard(), "a", "b"))
    a, b = ids(await talk.say("go"))
    run = await talk.say("by the way", resume=[resolved(a, 1)])
    assert (run.outcome, ids(run), heard.answers) == ("interrupt", [b], [("a", 1)])
    assert [m["content"] for m in run.snapshot] == ["go", "by the way"]


async def test_the_legacy_resume_is_no_resume(thread: NewThread) -> None:
    """`forwardedProps.command.resume` answers nothing."""
    talk = thread(asking(heard := Heard()))
    await talk.say("go")
    assert (await talk.run(forwardedProps={"command": {"resume": "yes"}})).outcome == "interrupt"
    assert heard.answers == []


async def test_the_same_run_id_may_resume(thread: NewThread) -> None:
    """CopilotKit sends the interrupted run's id again."""
    talk = thread(asking(heard := Heard()))
    (open_id,) = ids(await talk.say("go", run_id="same"))
    assert (await talk.answer(resolved(open_id, 1), run_id="same")).outcome == "success"
    assert heard.answers == [1]


def approving(done: list[str]) -> StateGraph[Any, Any, Any, Any]:
    @tool
    async def delete(name: str) -> str:
        """Delete."""
        answer = interrupt({"type": "approval", "message": name, "toolCallId": "c0" if name == "a" else "c1"})
        if not answer["approved"]:
            return "refused"
        done.append(name)
        return f"deleted {name}"

    return react(ScriptedModel(turns=[calling(("delete", {"name": "a"}), ("delete", {"name": "b"})), "done"]), delete)


async def test_tools_that_ask(thread: NewThread) -> None:
    """Calls stay open without a result; the resumed run sends the results alone, no second START; each effect once."""
    done: list[str] = []
    talk = thread(approving(done))
    asked = await talk.say("go")
    assert [i["toolCallId"] for i in asked.interrupts] == ["c0", "c1"]
    assert asked.of("TOOL_CALL_RESULT") == []
    a, b = ids(asked)
    first = await talk.answer(resolved(a, {"approved": True}))
    assert (first.results, ids(first), done) == ({"c0": "deleted a"}, [b], ["a"])
    second = await talk.answer(cancelled(b))
    assert (second.results, second.text, done) == ({"c1": "refused"}, "done", ["a"])
    for run in (first, second):
        assert run.of("TOOL_CALL_START", "TOOL_CALL_ARGS") == []


async def test_a_graph_that_hides_its_messages_does_not_announce_again(thread: NewThread) -> None:
    """Its states say nothing of the history: the checkpoint does."""

    class Out(BaseModel):
        note: str = ""

    class State(MessagesState):
        note: str

    @tool
    async def ask(q: str) -> str:
        """Ask."""
        return str(interrupt(q))

    model = ScriptedModel(turns=[calling(("ask", {"q": "x"})), "done"])
    built = react(model, ask)
    graph = StateGraph(State, output_schema=Out)
    for name, spec in built.nodes.items():
        graph.add_node(name, spec.runnable)
    graph.add_edge(START, "model")
    graph.branches = built.branches
    graph.add_edge("tools", "model")
    talk = thread(graph)
    (open_id,) = ids(await talk.say("go"))
    run = await talk.answer(resolved(open_id, "yes"))
    assert run.of("TOOL_CALL_START") == []
    assert run.results == {"c0": "yes"}


async def test_nested_questions(thread: NewThread) -> None:
    """A nested agent is suspended at its question, two levels down, and finishes when it is answered."""
    heard = Heard()
    inner = single(single(heard.node("deep?")).compile()).compile()
    talk = thread(single(inner))
    asked = await talk.say("go")
    (open_id,) = ids(asked)
    endings = [e["outcome"] for e in asked.of("SUBAGENT_FINISHED")]
    assert [e["type"] for e in endings] == ["suspended", "suspended"]
    assert endings[0]["interruptIds"] == [open_id]
    answered = await talk.answer(resolved(open_id, 1))
    assert heard.answers == [1]
    assert (answered.outcome, answered.snapshot[-1]["content"]) == ("success", "thanks")


async def test_connect_shows_what_the_run_ended_with(thread: NewThread, stream_recorder: StreamRecorder) -> None:
    """Messages, state and all open questions, in the live shape, under the stored ids; a thread nobody knows is empty."""
    talk: AgentThread = thread(approving([]))
    asked = await talk.say("go")
    events = [e.model_dump(mode="json", by_alias=True) for e in await connect_events(talk.compiled(), talk.id, None)]
    shown = Run(events)
    stream_recorder.record("connect", {"threadId": talk.id, "runId": events[0]["runId"], "messages": [], "protocolVersion": "1.0"}, events)
    assert (shown.snapshot, shown.interrupts) == (asked.snapshot, asked.interrupts)
    assert shown.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    nobody = Run([e.model_dump(mode="json", by_alias=True) for e in await connect_events(talk.compiled(), "nobody", None)])
    assert (nobody.snapshot, nobody.state, nobody.outcome) == ([], {}, "success")
