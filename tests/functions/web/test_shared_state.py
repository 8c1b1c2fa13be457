"""State, client tools and reloads over HTTP: what an agent of the catalog declares reaches its clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from fastapi import FastAPI
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Command

from functions.web import create_app
from graphs.catalog import AgentSpec, Deps, Options, PredictState
from graphs.client import frontend_tools, route_own_tools, unless_client_owes
from graphs.models import ScriptedModel
from graphs.tools import tool_node
from tests.functions.web.test_app import SETTINGS, body, client_of
from tests.support.agent_thread import Json, Run, calling
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder

PAINT: Json = {"name": "paint", "description": "Paint it.", "parameters": {"type": "object"}}


class Draft(MessagesState, total=False):
    draft: str
    tone: str


@dataclass
class Manner:
    tone: str = "plain"


@tool
def write(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write the draft."""
    return Command(update={"draft": text, "messages": [ToolMessage("written", tool_call_id=tool_call_id)]})


def options(state: Mapping[str, Any], forwarded: Mapping[str, Any]) -> Options:
    """The run's context from forwardedProps."""
    return Options(context=Manner(str(forwarded.get("tone", "plain"))))


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """A writer whose model knows the client's tools too."""
    model = ScriptedModel(turns=[calling(("write", {"text": "a b"}), ("paint", {})), "done"])

    async def ask(state: Draft, config: RunnableConfig) -> Json:
        bound = model.bind_tools([write, *frontend_tools(config, ["write"])])
        return {"messages": [await bound.ainvoke(state["messages"], config)], "tone": get_runtime(Manner).context.tone}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Draft, context_schema=Manner)
    graph.add_node("model", ask)
    graph.add_node("tools", tool_node([write]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route_own_tools("tools", ["write"]), ["tools", "__end__"])
    graph.add_conditional_edges("tools", unless_client_owes("model", ["write"]), ["model", "__end__"])
    return graph


WRITER = AgentSpec(
    name="writer",
    title="Writer",
    description="",
    module=f"{__name__}:build",
    state_keys=("draft", "tone"),
    options=f"{__name__}:options",
    predict_state=(PredictState("write", "text", "draft"),),
)


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    monkeypatch.setattr("functions.runs.agents.AGENTS", {"writer": WRITER})
    return create_app("writer", SETTINGS, checkpointer=InMemorySaver())


async def posted(client: Any, path: str, sent: Json) -> Run:
    return Run(read_sse((await client.post(path, json=sent)).content))


async def test_a_whole_conversation(writer: FastAPI, stream_recorder: StreamRecorder) -> None:
    """Predicted state, context from forwardedProps, a call that the client owes, twice shown again, answered."""
    sent = body("write!", protocolVersion="1.0", tools=[PAINT], forwardedProps={"tone": "warm"})
    again = {"threadId": "t", "protocolVersion": "1.0", "tools": [PAINT]}
    async with client_of(writer) as client:
        run = await posted(client, "/", sent)
        reloads = [await posted(client, "/connect", again) for _ in range(2)]
        history = [*run.snapshot, {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "painted"}]
        answer = {**body(None, run="r2", protocolVersion="1.0", tools=[PAINT], state=run.client_state), "messages": history}
        done = await posted(client, "/", answer)
    stream_recorder.record("writer", sent, run.events)
    drafts = [operation["value"] for e in run.of("STATE_DELTA") for operation in e["delta"] if operation["path"] == "/draft"]
    assert drafts == ["", "a", "a b"]
    assert run.client_state == {"draft": "a b", "tone": "warm"}
    assert run.end["outcome"] == {"type": "success", "pendingToolCallIds": ["c1"]}
    for reload in reloads:
        stream_recorder.record("writer-connect", {**again, "runId": reload.end["runId"], "messages": []}, reload.events)
        assert reload.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
        assert (reload.snapshot, reload.state, reload.end["outcome"]) == (run.snapshot, run.client_state, run.end["outcome"])
    stream_recorder.record("writer-answer", answer, done.events)
    assert (done.text, done.end["outcome"]) == ("done", {"type": "success"})


async def test_connect_while_a_question_is_open(stream_recorder: StreamRecorder) -> None:
    """All of it under the same ids each time; the answer to what a reload showed is taken."""
    async with client_of(create_app("dev", SETTINGS, checkpointer=InMemorySaver())) as client:
        run = await posted(client, "/", body())
        first, second = [await posted(client, "/connect", {"threadId": "t"}) for _ in range(2)]
        assert first.end["outcome"] == second.end["outcome"] == run.end["outcome"]
        assert first.snapshot == second.snapshot == run.snapshot
        assert (first.state, first.end["runId"] != second.end["runId"]) == (run.state, True)
        stream_recorder.record("connect-question", {"threadId": "t", "runId": first.end["runId"], "messages": []}, first.events)
        entry = {"interruptId": first.interrupts[0]["id"], "status": "resolved", "payload": {"value": "hitlDemo"}}
        resumed = {**body(None, run="r2", resume=[entry]), "messages": first.snapshot, "state": first.state}
        answered = await posted(client, "/", resumed)
    stream_recorder.record("connect-answered", resumed, answered.events)
    assert answered.outcome == "interrupt"
    assert answered.interrupts[0]["id"] != first.interrupts[0]["id"]


ODD: dict[str, Json] = {
    "tools that are none": {"tools": "x"},
    "tools without names": {"tools": [1, {}, {"name": ["x"]}]},
    "a version that is none": {"tools": [PAINT], "protocolVersion": 1},
    "a whole input": body("not run", thread="none"),
}


@pytest.mark.parametrize("more", ODD.values(), ids=ODD)
async def test_connect_ignores_what_it_does_not_know(more: Json, writer: FastAPI) -> None:
    """A body may be a RunAgentInput, or hold anything beside the thread's id: nothing runs; an unknown thread is empty."""
    async with client_of(writer) as client:
        shown = await posted(client, "/connect", {**more, "threadId": "none"})
    assert (shown.snapshot, shown.state, shown.end["outcome"]) == ([], {}, {"type": "success"})
