"""Runs with tools: every kind of result and failure, and call ids that repeat or are missing."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command

from graphs.models import ScriptedModel
from graphs.tools import LazyToolNode
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, calling
from tests.support.small_graphs import react, text


@tool
def listing() -> list[Any]:
    """A list."""
    return [1, {"a": "é"}]


@tool
def record() -> dict[str, Any]:
    """A dict."""
    return {"a": "é"}


@tool
def command(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """A Command."""
    return Command(update={"messages": [ToolMessage("by command", tool_call_id=tool_call_id)]})


@tool
def stateful(state: Annotated[dict[str, Any], InjectedState], q: str) -> str:
    """Reads the state."""
    return f"{len(state['messages'])} {q}"


@tool
def raising() -> str:
    """Fails."""
    raise ConnectionError("host db-7.internal key sk-123")


@pytest.mark.parametrize(
    ("call", "content", "failed"),
    [
        (("text", {"q": "x"}), "about x", False),
        (("listing", {}), '[1, {"a": "é"}]', False),
        (("record", {}), '{"a": "é"}', False),
        (("command", {}), "by command", False),
        (("stateful", {"q": "x"}), "2 x", False),
        (("raising", {}), "Error: the tool failed (ConnectionError).", True),
        (("unknown", {}), "Error: unknown is not a valid tool", True),
        (("text", {"z": 1}), "Error invoking tool 'text'", True),
    ],
)
async def test_tools(call: tuple[str, Json], content: str, failed: bool, thread: NewThread) -> None:
    """Whatever a tool returns or raises: one result, with the content and id of the checkpoint, and no error of its own words."""
    tools = (text, listing, record, command, stateful, raising)
    talk = thread(react(ScriptedModel(turns=[calling(call), "done"]), *tools))
    run = await talk.say("go")
    (result,) = run.of("TOOL_CALL_RESULT")
    stored = (await talk.stored())[2]
    assert result["content"].startswith(content)
    assert (result["messageId"], result["content"]) == (stored.id, stored.text)
    assert result.get("metadata") == ({"error": True} if failed else None)
    assert "".join(e["delta"] for e in run.of("TOOL_CALL_ARGS")) == ("{}" if not call[1] else str(call[1]).replace("'", '"'))
    assert "db-7.internal" not in str(run.events)
    assert (run.outcome, run.text) == ("success", "done")


async def test_a_tool_node_of_ones_own(thread: NewThread) -> None:
    """Results that come only with the state are results too."""

    async def answer(call: Any) -> Json:
        return {"messages": [ToolMessage("mine", tool_call_id=call[0]["id"])]}

    run = await (talk := thread(react(ScriptedModel(turns=[calling(("f", {})), "done"]), node=answer))).say("go")
    assert run.results == {"c0": "mine"}
    assert run.of("TOOL_CALL_RESULT")[0]["messageId"] == (await talk.stored())[2].id


async def test_a_raising_tool_without_a_handler_fails_the_run(thread: NewThread) -> None:
    """And the next message goes on: the lost call has an error result before the model sees it."""
    model = ScriptedModel(turns=[calling(("raising", {})), "sorry"])
    talk = thread(react(model, node=ToolNode([raising], handle_tool_errors=False)))
    run = await talk.say("go")
    assert run.outcome == "UPSTREAM_UNREACHABLE"
    assert "db-7.internal" not in str(run.events)
    again = await talk.say("and?")
    assert (again.outcome, again.text) == ("success", "sorry")
    assert [m.type for m in model.calls[-1]] == ["human", "ai", "tool", "human"]
    assert again.snapshot[2]["error"] == "The run ended before this tool returned a result."


async def test_repeated_call_ids(thread: NewThread) -> None:
    """A model that counts its calls from 0 in each turn: `c0`, `c0~2`, in stream and snapshot, also in the next run."""
    model = ScriptedModel(turns=[calling(("text", {"q": "a"})), calling(("text", {"q": "b"})), "x", calling(("text", {"q": "c"})), "y"])
    talk = thread(react(model, text))
    first, second = await talk.say("go"), await talk.say("again")
    assert first.results == {"c0": "about a", "c0~2": "about b"}
    assert second.results == {"c0~3": "about c"}
    assert [c["id"] for m in second.snapshot for c in m.get("toolCalls", ())] == ["c0", "c0~2", "c0~3"]
    assert [c["id"] for m in await talk.stored() for c in getattr(m, "tool_calls", ())] == ["c0", "c0", "c0"]


async def test_calls_without_ids(thread: NewThread) -> None:
    """The id is made before the tool runs: stream, result and checkpoint have the same."""
    talk = thread(react(ScriptedModel(turns=[calling(("text", {"q": "a"}), ids=[""]), "done"]), text))
    run = await talk.say("go")
    (call,) = run.of("TOOL_CALL_START")
    assert run.results == {call["toolCallId"]: "about a"}
    assert call["toolCallId"] == (await talk.stored())[1].tool_calls[0]["id"]
    assert call["toolCallId"].startswith("call:")


async def test_a_tool_node_inside_a_node_announces_each_call_once(thread: NewThread) -> None:
    """A node of one's own that calls a LazyToolNode: every call has one start, one end and one result, also when its model said nothing
    of it on the stream."""

    async def load() -> list[Any]:
        return [text]

    lazy = LazyToolNode(load)

    async def ask(state: MessagesState) -> Json:
        return {"messages": [calling(("text", {"q": "a"}), ("text", {"q": "b"}))]}

    async def run_tools(state: MessagesState, config: RunnableConfig) -> Any:
        return await lazy.ainvoke(state, config)

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("inside", run_tools)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "inside")
    run = await thread(graph).say("go")
    for kind in ("START", "END", "RESULT"):
        assert sorted(event["toolCallId"] for event in run.of(f"TOOL_CALL_{kind}")) == ["c0", "c1"]
    assert run.results == {"c0": "about a", "c1": "about b"}
