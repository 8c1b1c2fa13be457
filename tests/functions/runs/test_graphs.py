"""Whole runs of real graphs with a scripted model: what reaches the client, and that it is what is stored."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, RetryPolicy, Send
from typing_extensions import TypedDict

from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel
from graphs.stream import AguiTransformer, write_agui_assistant_text, write_agui_event
from graphs.tools import route_tools, tool_node
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, Run, calling, single


def react(model: ScriptedModel, *tools: Any, node: Any = None) -> StateGraph[Any, Any, Any, Any]:
    """The tool loop, one task a call."""

    async def ask(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask)
    graph.add_node("tools", node or tool_node(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route_tools("tools"))
    graph.add_edge("tools", "model")
    return graph


def speaking(*turns: Any) -> StateGraph[Any, Any, Any, Any]:
    model = ScriptedModel(turns=list(turns))

    async def node(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return single(node)


def normal(run: Run) -> list[str]:
    """Lines with ids by order of appearance, tokens of one item joined, without usage."""
    names: dict[str, str] = {}
    for event in run.events:
        for key in ("messageId", "subagentRunId"):
            if (value := event.get(key)) and ":reasoning" not in value:
                names.setdefault(value, f"<{len(names)}>")
    run.end.pop("usage", None)
    run.end.update(threadId="T", runId="R")
    joined: list[Json] = []
    for event in run.events:
        last = joined[-1] if joined else {}
        if "delta" in event and (last.get("type"), last.get("messageId"), last.get("toolCallId")) == (
            event["type"],
            event.get("messageId"),
            event.get("toolCallId"),
        ):
            last["delta"] += event["delta"]
        else:
            joined.append(dict(event))
    lines = Run(joined).lines
    for value, name in names.items():
        lines = [text.replace(value, name) for text in lines]
    return lines


async def test_golden_turn(thread: NewThread) -> None:
    """A whole turn: reasoning, text, two calls at once, results, the answer, snapshot, success. The ids are those of the checkpoint."""

    @tool
    async def add(a: int, b: int) -> str:
        """Add."""
        return str(a + b)

    first = AIMessage(
        [{"type": "reasoning", "reasoning": "two sums"}, {"type": "text", "text": "Adding."}],
        tool_calls=calling(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})).tool_calls,
    )
    talk = thread(react(ScriptedModel(turns=[first, "3 and 7."]), add))
    run = await talk.say("sums?")
    stored = [m.id for m in await talk.stored()]
    assert [m["id"] for m in run.snapshot if m["role"] != "reasoning"] == stored
    results = sorted(run.of("TOOL_CALL_RESULT"), key=lambda e: e["toolCallId"])
    assert [(e["messageId"], e["content"]) for e in results] == [(stored[2], "3"), (stored[3], "7")]
    lines = [text for text in normal(run) if not text.startswith(("TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT"))]
    assert lines == snapshot(
        [
            "STEP_STARTED stepName=model",
            "REASONING_MESSAGE_START messageId=<0>:reasoning:0 role=reasoning",
            "REASONING_MESSAGE_CONTENT messageId=<0>:reasoning:0 delta=two sums",
            "REASONING_MESSAGE_END messageId=<0>:reasoning:0",
            "TEXT_MESSAGE_START messageId=<0> role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=<0> delta=Adding.",
            "TOOL_CALL_START toolCallId=c0 toolCallName=add parentMessageId=<0>",
            'TOOL_CALL_ARGS toolCallId=c0 delta={"a": 1, "b": 2}',
            "TOOL_CALL_START toolCallId=c1 toolCallName=add parentMessageId=<0>",
            'TOOL_CALL_ARGS toolCallId=c1 delta={"a": 3, "b": 4}',
            "TOOL_CALL_END toolCallId=c0",
            "TOOL_CALL_END toolCallId=c1",
            "TEXT_MESSAGE_END messageId=<0>",
            "STEP_FINISHED stepName=model",
            "STEP_STARTED stepName=tools",
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=model",
            "TEXT_MESSAGE_START messageId=<3> role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=<3> delta=3 and 7.",
            "TEXT_MESSAGE_END messageId=<3>",
            "STEP_FINISHED stepName=model",
            "RUN_FINISHED threadId=T runId=R outcome={'type': 'success'}",
        ]
    )


@tool
def text(q: str) -> str:
    """A text."""
    return f"about {q}"


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
    assert "db-7" not in str(run.events)
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
    assert "db-7" not in str(run.events)
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


def pieces(*given: tuple[str, str, int | str]) -> list[AIMessageChunk]:
    """Chunks of (kind, text, the provider's index)."""
    return [AIMessageChunk(content=[{"type": kind, kind: said, "index": index}]) for kind, said, index in given]


async def test_reasoning_resumed_after_text(thread: NewThread) -> None:
    """The second part is a message of its own while it streams; the checkpoint has both in one."""
    chunks = pieces(("reasoning", "a", 0), ("text", "b", 1), ("reasoning", "c", 0))
    run = await thread(speaking(chunks)).say("go", transient=["c"])
    assert [e["messageId"].partition(":")[2] for e in run.of("REASONING_MESSAGE_START")] == ["reasoning:0", "reasoning:0.1"]
    assert [m["content"] for m in run.snapshot] == ["go", "ac", "b"]


async def test_provider_indexes_with_gaps(thread: NewThread) -> None:
    """Streamed reasoning keeps its id in the snapshot."""
    chunks = pieces(("reasoning", "a", 3), ("text", "b", "x7"), ("reasoning", "c", 9))
    run = await thread(speaking(chunks)).say("go")
    assert [m["id"] for m in run.snapshot if m["role"] == "reasoning"] == [e["messageId"] for e in run.of("REASONING_MESSAGE_START")]


async def test_an_unparsable_call_expects_no_result(thread: NewThread) -> None:
    """It is shown as the model wrote it, closed, and the run ends well."""
    from langchain_core.messages.tool import tool_call_chunk

    chunk = AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="text", args='{"q": ', id="c0", index=0)])
    run = await thread(react(ScriptedModel(turns=[[chunk]]), text)).say("go")
    assert [e["type"] for e in run.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")] == [
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
    ]
    assert run.outcome == "success"


async def test_whole_messages_and_what_nobody_should_see(thread: NewThread) -> None:
    """A message that a node made is shown like a streamed one; a prompt it returns beside it only as history."""

    async def node(state: MessagesState) -> Json:
        return {"messages": [AIMessage("made by hand", id="mine")]}

    run = await thread(single(node)).say("go")
    assert [e["messageId"] for e in run.of("TEXT_MESSAGE_START")] == ["mine"]
    assert run.text == "made by hand"


async def test_a_model_called_with_astream(thread: NewThread) -> None:
    """No deltas, one whole message under the stored id: LangGraph gives no more. Its tokens count."""
    model = ScriptedModel(turns=["one two three"])

    async def node(state: MessagesState) -> Json:
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        whole: Any = sum(chunks[1:], chunks[0])
        return {"messages": [whole]}

    run = await (talk := thread(single(node))).say("go")
    assert [e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT")] == ["one two three"]
    assert run.of("TEXT_MESSAGE_START")[0]["messageId"] == (await talk.stored())[-1].id
    assert run.end["usage"][0]["outputTokens"] == 3


async def test_usage_counts_every_call(thread: NewThread) -> None:
    """Per provider and model; muted calls too; their text is not shown."""
    loud, muted = ScriptedModel(turns=["a b"]), ScriptedModel(model_name="small", turns=["secret thought"])

    async def node(state: MessagesState) -> Json:
        await muted.with_config(tags=["nostream"]).ainvoke("x")
        return {"messages": [await loud.ainvoke("x")]}

    run = await thread(single(node)).say("go")
    assert {u["model"]: u["outputTokens"] for u in run.end["usage"]} == {"small": 2, "scripted": 2}
    assert run.text == "a b"


async def test_two_models_in_one_step(thread: NewThread) -> None:
    """Their tokens interleave and their messages stay apart; the node's step is one."""
    model = ScriptedModel(delay_ms=1, turns=["a a a a a a", "b b b b b b"])

    async def fan(state: MessagesState) -> Json:
        return {}

    async def say(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    graph = StateGraph(MessagesState)
    graph.add_node("fan", fan)
    graph.add_node("say", say)
    graph.add_edge(START, "fan")
    graph.add_conditional_edges("fan", lambda _: [Send("say", {"messages": []}), Send("say", {"messages": []})], ["say"])
    run = await thread(graph).say("go")
    ids = [e["messageId"] for e in run.of("TEXT_MESSAGE_CONTENT")]
    assert ids != sorted(ids)
    texts = {i: "".join(e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT") if e["messageId"] == i) for i in ids}
    assert sorted(texts.values()) == ["a a a a a a", "b b b b b b"]
    assert [e["stepName"] for e in run.of("STEP_STARTED", "STEP_FINISHED")] == ["fan", "fan", "say", "say"]


def nested(levels: int, turn: str) -> Any:
    """A graph in a graph in a graph; the innermost speaks."""
    inner = speaking(turn).compile(name=f"level{levels}")
    for _ in range(levels - 1):
        inner = single(inner).compile()
    return inner


async def test_nested_graphs(thread: NewThread) -> None:
    """Two levels down: both sub-agents announced, the text attributed to the inner, everything closed."""
    run = await thread(single(nested(2, "hello there"))).say("go")
    outer, inner = run.of("SUBAGENT_STARTED")
    assert inner["parentSubagentRunId"] == outer["subagentRunId"]
    assert {e["subagentRunId"] for e in run.of("TEXT_MESSAGE_CONTENT")} == {inner["subagentRunId"]}
    assert [e["subagentRunId"] for e in run.of("SUBAGENT_FINISHED")] == [inner["subagentRunId"], outer["subagentRunId"]]
    assert (run.text, run.snapshot[-1]["content"]) == ("hello there", "hello there")
    assert [e["stepName"] for e in run.of("STEP_STARTED")] == ["node", "node/node", "node/node/node"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_node_that_runs_two_graphs_of_one_name(at_once: bool, thread: NewThread) -> None:
    """Two sub-agents side by side, one name, ids of their own, also when they run at once."""
    inner = speaking("a a", "b b").compile()

    async def node(state: MessagesState) -> Json:
        given: Any = {"messages": []}
        if at_once:
            await asyncio.gather(inner.ainvoke(given), inner.ainvoke(given))
        else:
            await inner.ainvoke(given)
            await inner.ainvoke(given)
        return {}

    run = await thread(single(node)).say("go")
    started = run.of("SUBAGENT_STARTED")
    assert [(e["name"], e.get("parentSubagentRunId")) for e in started] == [("node", None), ("node", None)]
    assert len({e["subagentRunId"] for e in run.of("TEXT_MESSAGE_START")}) == 2


async def test_agents_of_one_name_at_once(thread: NewThread) -> None:
    """Two tasks of one node, each with a nested graph: legal for both clients."""
    model = ScriptedModel(delay_ms=1, turns=["a a a", "b b b"])

    async def say(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    graph = StateGraph(MessagesState)
    graph.add_node("fan", lambda _: {})
    graph.add_node("agent", single(say).compile())
    graph.add_edge(START, "fan")
    graph.add_conditional_edges("fan", lambda _: [Send("agent", {"messages": []}), Send("agent", {"messages": []})], ["agent"])
    run = await thread(graph).say("go")
    assert [e["name"] for e in run.of("SUBAGENT_STARTED")] == ["agent", "agent"]
    assert sorted(m["content"] for m in run.snapshot) == ["a a a", "b b b", "go"]


@pytest.mark.parametrize("transformer", [AguiTransformer, lambda scope: AguiTransformer(scope)])
async def test_a_transformer_of_compile_time(transformer: Any, thread: NewThread) -> None:
    """It serves the run; ours would be a second of the same name."""
    talk = thread(react(ScriptedModel(turns=[calling(("text", {"q": "a"})), "x", "y"]), text), compile={"transformers": [transformer]})
    assert [(await talk.say("go")).text, (await talk.say("and")).text] == ["x", "y"]


async def test_without_a_checkpointer(thread: NewThread) -> None:
    """The history comes with the input; an answer to nothing is said to be ignored."""
    model = ScriptedModel(turns=["one", "two", "three"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    talk = thread(single(node), compile={"checkpointer": None})
    await talk.say("go")
    run = await talk.say("and", resume=[{"interruptId": "i", "status": "resolved", "payload": 1}])
    assert [m.text for m in model.calls[1]] == ["go", "one", "and"]
    assert [m["content"] for m in run.snapshot] == ["go", "one", "and", "two"]
    assert run.ignored == ["i"]


class Odd(TypedDict):
    messages: Annotated[list[Any], operator.add]
    thing: Any


async def test_state_that_is_not_json(thread: NewThread) -> None:
    """Shown by the one rule; messages are never part of it; a state without ids has messages with ids."""

    async def node(state: Odd) -> Json:
        return {"thing": {"f": float("nan"), "s": {1}, "o": ValueError("x")}, "messages": [HumanMessage("h"), AIMessage("a")]}

    run = await thread(single(node, Odd)).say("go")
    assert run.state == {"thing": {"f": None, "s": [1], "o": "ValueError('x')"}}


class Counter(MessagesState):
    count: int
    secret: str


async def test_public_state(thread: NewThread) -> None:
    """Only the named keys; what the client set is taken; equal to what the client has it is not sent."""

    async def node(state: Counter) -> Json:
        return {"count": state.get("count", 0) + 1, "secret": "s"}

    talk = thread(single(node, Counter), state_keys=("count",))
    assert (await talk.say("go", state={"count": 4, "secret": "mine"})).state == {"count": 5}
    assert (await talk.say("go", state={"count": 5})).state == {"count": 6}
    assert (await talk.say("go", state={"count": 6})).state == {"count": 7}

    async def still(state: Counter) -> Json:
        return {}

    run = await thread(single(still, Counter), state_keys=("count",)).say("go", state={"count": 4})
    assert run.of("STATE_SNAPSHOT") == []


async def test_the_state_comes_before_its_first_delta(thread: NewThread) -> None:
    """A patch is a patch of something both sides have; the run ends with the whole state again."""

    async def node(state: Counter) -> Json:
        for value in (1, 2):
            write_agui_event({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/count", "value": value}]})
        return {"count": 2}

    run = await thread(single(node, Counter), state_keys=("count",)).say("go")
    assert [e["type"] for e in run.events if e["type"].startswith("STATE")] == [
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "STATE_DELTA",
        "STATE_SNAPSHOT",
    ]
    assert run.of("STATE_SNAPSHOT")[0]["snapshot"] == {}
    assert run.state == {"count": 2}


async def test_native_run_finished(thread: NewThread) -> None:
    """It ends the stream, under the run's own ids; the graph goes on unseen, even if it fails then."""

    async def node(state: MessagesState) -> Json:
        write_agui_event({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "assistant"})
        write_agui_event({"type": "RUN_FINISHED", "threadId": "other", "runId": "other", "outcome": {"type": "success"}})
        write_agui_assistant_text("late")
        raise RuntimeError("late")

    run = await thread(single(node)).say("go")
    assert run.types[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]


async def test_a_note_beside_the_model(thread: NewThread) -> None:
    """The writer's text is transient: streamed, not stored."""

    async def node(state: MessagesState) -> Json:
        write_agui_assistant_text(" working… ")
        return {"messages": [AIMessage("done", id="m")]}

    run = await thread(single(node)).say("go", transient=["working…"])
    assert [m["content"] for m in run.snapshot] == ["go", "done"]
    assert run.text == "working…done"


async def test_a_retried_node(thread: NewThread) -> None:
    """What the first try said is closed and gone from the snapshot."""
    model = ScriptedModel(turns=[[AIMessageChunk(content=[{"type": "text", "text": "half", "index": 0}]), ConnectionError("x")], "whole"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    run = await thread(single(node, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))).say("go", transient=["half"])
    assert (run.outcome, run.snapshot[-1]["content"]) == ("success", "whole")


async def test_the_echo_holds_what_is_new(thread: NewThread) -> None:
    """Clients send the whole history each time: it does not come back; what JSON cannot hold does not cut the stream."""
    talk = thread(speaking("one", "two"))
    await talk.say("go")
    run = await talk.say("and", state={"x": "\ud800", "y": float("nan")}, forwardedProps={"z": float("inf")})
    echo = run.events[0]["input"]
    assert [m["content"] for m in echo["messages"]] == ["and"]
    assert (echo["state"], echo["forwardedProps"]) == ({"x": "\ufffd", "y": None}, {"z": None})


async def test_multimodal(thread: NewThread) -> None:
    """What was sent is what the model gets and what a snapshot shows."""
    model = ScriptedModel(turns=["a cat"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    parts = [{"type": "text", "text": "what?"}, {"type": "image", "source": {"type": "url", "value": "https://x/cat.png"}}]
    run = await thread(single(node)).say(parts)
    assert model.calls[0][0].content[1] == {"type": "image", "url": "https://x/cat.png"}
    assert run.snapshot[0]["content"] == parts


@pytest.mark.parametrize("name", list(AGENTS))
async def test_the_agents_of_the_catalog(name: str, thread: NewThread) -> None:
    """A plain turn of each is a legal stream."""
    talk = thread(AGENTS[name].build(Deps(ScriptedModel(turns=["hello"] * 9))), state_keys=AGENTS[name].state_keys)
    run = await talk.say("hi")
    assert run.outcome in ("success", "interrupt")
