"""What the client brings along: its own tools, its context, its forwardedProps, its pictures."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt
from pydantic import Field

from functions.runs.connect import connect_events
from graphs.catalog import AGENTS, Deps
from graphs.client import CONTEXT, FORWARDED_PROPS, FRONTEND_TOOLS
from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, Run, calling, resolved, single
from tests.support.streams import StreamRecorder

SHOW_MAP: Json = {
    "name": "show_map",
    "description": "Show a map.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
PAINT: Json = {"name": "paint", "description": "Paint it."}


class Tools:
    """Counts what runs here."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        @tool
        async def weather(at: str) -> str:
            """The weather."""
            self.ran.append(at)
            return f"sun in {at}"

        @tool
        async def confirm(what: str) -> str:
            """Ask first."""
            return f"{what}: {interrupt(what)}"

        self.all = [weather, confirm]


def agent(thread: NewThread, model: ScriptedModel, here: Tools, **settings: Any) -> AgentThread:
    """reactAgent with two more tools."""
    return thread(AGENTS["reactAgent"].build(Deps(model, tools=here.all)), **settings)


class Bound(ScriptedModel):
    """Keeps the tools it was bound to."""

    seen: list[list[Json]] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        bound = super().bind_tools(tools, **kwargs)
        self.seen.append([t["function"] for t in bound.kwargs["tools"]])  # type: ignore[attr-defined]
        return bound


def result(call_id: str, text: str = "", error: str | None = None) -> Json:
    return {"id": f"t-{call_id}", "role": "tool", "toolCallId": call_id, "content": text} | ({"error": error} if error else {})


async def test_they_are_bound_and_never_run_here(thread: NewThread) -> None:
    """The model sees name, description and schema; the turn ends with its call; the client's result is the next input."""
    model = Bound(turns=[calling(("show_map", {"at": "Oslo"})), "there"])
    talk = agent(thread, model, Tools())
    asked = await talk.say("where?", tools=[SHOW_MAP, PAINT])
    assert model.seen[-1][-2:] == [SHOW_MAP, {**PAINT, "parameters": {"type": "object", "properties": {}}}]
    assert asked.end["outcome"] == {"type": "success", "pendingToolCallIds": ["c0"]}
    assert asked.results == {}
    talk.messages.append(result("c0", "shown"))
    run = await talk.run(tools=[SHOW_MAP])
    assert (run.text, run.end["outcome"]) == ("there", {"type": "success"})
    assert [m.type for m in await talk.stored()] == ["human", "ai", "tool", "ai"]


async def test_a_failure_of_the_client(thread: NewThread) -> None:
    """It is a failed result, for the model and on every reload."""
    model = ScriptedModel(turns=[calling(("show_map", {})), "sorry"])
    talk = agent(thread, model, Tools())
    await talk.say("where?", tools=[SHOW_MAP])
    talk.messages.append(result("c0", error="no signal"))
    run = await talk.run(tools=[SHOW_MAP])
    stored = (await talk.stored())[2]
    assert (stored.status, stored.text, run.text) == ("error", "no signal", "sorry")
    assert [m["error"] for m in run.snapshot if m["role"] == "tool"] == ["no signal"]


async def test_both_kinds_in_one_turn(thread: NewThread) -> None:
    """Ours run at once, theirs wait; the model is not asked before the client has answered."""
    here = Tools()
    model = ScriptedModel(turns=[calling(("weather", {"at": "Oslo"}), ("show_map", {"at": "Oslo"}), ("weather", {"at": "Rome"})), "done"])
    talk = agent(thread, model, here)
    asked = await talk.say("go", tools=[SHOW_MAP])
    assert asked.results == {"c0": "sun in Oslo", "c2": "sun in Rome"}
    assert (asked.end["outcome"]["pendingToolCallIds"], len(model.calls)) == (["c1"], 1)
    talk.messages.append(result("c1", "shown"))
    run = await talk.run(tools=[SHOW_MAP])
    assert (run.text, here.ran, sorted(m.text for m in model.calls[1] if m.type == "tool")) == (
        "done",
        ["Oslo", "Rome"],
        ["shown", "sun in Oslo", "sun in Rome"],
    )


async def test_a_call_of_theirs_beside_a_question(thread: NewThread) -> None:
    """The question first; after its answer the client still owes its result; then the model goes on."""
    model = ScriptedModel(turns=[calling(("confirm", {"what": "x"}), ("show_map", {})), "done"])
    talk = agent(thread, model, Tools())
    asked = await talk.say("go", tools=[SHOW_MAP])
    answered = await talk.answer(resolved(asked.interrupts[0]["id"], "yes"), tools=[SHOW_MAP])
    assert answered.end["outcome"] == {"type": "success", "pendingToolCallIds": ["c1"]}
    assert (answered.results, len(model.calls)) == ({"c0": "x: yes"}, 1)
    talk.messages.append(result("c1", "shown"))
    assert (await talk.run(tools=[SHOW_MAP])).text == "done"


async def test_a_part_of_the_results(thread: NewThread) -> None:
    """What the client leaves out failed: the model is asked with a whole history."""
    model = ScriptedModel(turns=[calling(("show_map", {}), ("paint", {})), "done"])
    talk = agent(thread, model, Tools())
    await talk.say("go", tools=[SHOW_MAP, PAINT])
    talk.messages.append(result("c1", "painted"))
    assert (await talk.run(tools=[SHOW_MAP, PAINT])).text == "done"
    assert {m.tool_call_id: m.status for m in await talk.stored() if m.type == "tool"} == {"c0": "error", "c1": "success"}


async def test_one_with_the_name_of_ours(thread: NewThread, caplog: pytest.LogCaptureFixture) -> None:
    """Ours is bound and run; the log says so."""
    here = Tools()
    model = Bound(turns=[calling(("weather", {"at": "Oslo"})), "done"])
    talk = agent(thread, model, here)
    with caplog.at_level(logging.WARNING):
        run = await talk.say("go", tools=[{**PAINT, "name": "weather"}])
    assert (run.results, run.end["outcome"], here.ran) == ({"c0": "sun in Oslo"}, {"type": "success"}, ["Oslo"])
    assert "'weather' has the name of a tool of the agent" in caplog.text
    assert [t["description"] for t in model.seen[-1] if t["name"] == "weather"] == ["The weather."]


async def test_a_tool_that_nobody_has(thread: NewThread) -> None:
    """A call of neither side's is a failed result."""
    talk = agent(thread, ScriptedModel(turns=[calling(("fly", {})), "no"]), Tools())
    run = await talk.say("go", tools=[SHOW_MAP])
    assert run.results["c0"].startswith("Error: fly is not a valid tool")
    assert run.text == "no"


@pytest.mark.parametrize(("tools", "version", "pending"), [([SHOW_MAP], "1.0", ["c0"]), ([SHOW_MAP], None, None), ([], "1.0", None)])
async def test_connect_tells_what_the_client_owes(
    tools: list[Json], version: str | None, pending: list[str] | None, thread: NewThread, stream_recorder: StreamRecorder
) -> None:
    """As the run said it, to a client that brings the tools and knows the field; the same ids each time."""
    talk = agent(thread, ScriptedModel(turns=[calling(("show_map", {}))]), Tools())
    await talk.say("go", tools=[SHOW_MAP])
    given = {"threadId": talk.id, "runId": "", "messages": [], "tools": tools} | ({"protocolVersion": version} if version else {})
    seen = []
    for _ in range(2):
        events = await connect_events(talk.compiled(), talk.id, (), frontend_tools=[t["name"] for t in tools], protocol_version=version)
        shown = Run([e.model_dump(mode="json", by_alias=True) for e in events])
        stream_recorder.record("connect-pending", {**given, "runId": shown.end["runId"]}, shown.events)
        assert shown.end["outcome"].get("pendingToolCallIds") == pending
        seen.append(shown.snapshot)
    assert seen[0] == seen[1] == talk.messages


# -- context and forwardedProps


def reading(seen: list[Json]) -> Any:
    async def node(state: MessagesState, config: RunnableConfig) -> Json:
        given = config["configurable"]
        seen.append({key: given.get(key) for key in (FRONTEND_TOOLS, CONTEXT, FORWARDED_PROPS)})
        if len(seen) == 1:
            interrupt("?")
        return {"messages": [AIMessage("read", id="m1")]}

    return single(node)


async def test_graphs_read_context_and_forwarded_props(thread: NewThread) -> None:
    """Both in `configurable`, also on a resume; no entry for what is empty."""
    seen: list[Json] = []
    talk = thread(reading(seen))
    context = [{"description": "page", "value": "/orders"}]
    asked = await talk.say("go", context=context, forwardedProps={"theme": {"dark": True}}, tools=[PAINT])
    await talk.answer(resolved(asked.interrupts[0]["id"], 1), context=context)
    first, again = seen
    assert first == {
        FRONTEND_TOOLS: [{**PAINT, "parameters": None}],
        CONTEXT: context,
        FORWARDED_PROPS: {"theme": {"dark": True}},
    }
    assert again == {FRONTEND_TOOLS: None, CONTEXT: context, FORWARDED_PROPS: None}


@pytest.mark.parametrize("props", [{"note": "SECRET" * 400}, "SECRET", ["SECRET"]])
async def test_none_of_it_is_stored(props: Any, thread: NewThread) -> None:
    """No checkpoint, write or metadata holds context or forwardedProps, whatever their form."""
    saver = InMemorySaver()
    talk = thread(reading([{}]), saver=saver)
    run = await talk.say("go", context=[{"description": "d", "value": "SECRET" * 400}], forwardedProps=props)
    assert run.outcome == "success"
    assert "SECRET" not in repr([tuple(stored) for stored in saver.list(None)])


async def test_forwarded_props_choose_no_thread(thread: NewThread) -> None:
    """They are one entry of their own: nothing in them replaces what the run is configured with."""
    seen: list[Json] = []
    talk = thread(reading(seen))
    run = await talk.say("go", forwardedProps={"thread_id": "other", "checkpoint_id": "x", "command": {"resume": "yes"}})
    assert (run.outcome, [m.text for m in await talk.stored()]) == ("interrupt", ["go"])


# -- pictures and other material


async def test_media_there_and_back(thread: NewThread) -> None:
    """The model gets blocks, the client gets back what it sent, on the run's end and on a reload."""
    model = ScriptedModel(turns=["nice", "still nice"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    sources = {
        "image": {"type": "data", "value": "aGk=", "mimeType": "image/png"},
        "audio": {"type": "data", "value": "aGk=", "mimeType": "audio/wav"},
        "video": {"type": "url", "value": "https://example.com/v.mp4", "mimeType": "video/mp4"},
        "document": {"type": "url", "value": "https://example.com/d.pdf"},
    }
    parts = [{"type": "text", "text": "look"}, *[{"type": kind, "source": source} for kind, source in sources.items()]]
    talk = thread(single(node))
    run = await talk.say(parts)
    assert [block["type"] for block in model.calls[0][0].content_blocks] == ["text", "image", "audio", "video", "file"]
    assert run.snapshot[0]["content"] == parts
    assert await shown(talk) == run.snapshot
    again = await talk.say("and now?")
    assert (again.text, again.snapshot[0]["content"]) == ("still nice", parts)


async def shown(talk: AgentThread) -> list[Json]:
    return Run([e.model_dump(mode="json", by_alias=True) for e in await connect_events(talk.compiled(), talk.id, ())]).snapshot
