"""Whole runs of real graphs with a scripted model: what reaches the client, and that it is what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langgraph.graph import MessagesState
from langgraph.types import RetryPolicy

from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel
from graphs.stream import AguiTransformer
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, Run, calling, single
from tests.support.claude import claude
from tests.support.small_graphs import pieces, react, speaking, text


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


async def test_usage_counts_every_call(thread: NewThread) -> None:
    """Per provider and model; muted calls too; their text is not shown."""
    loud, muted = ScriptedModel(turns=["a b"]), ScriptedModel(model_name="small", turns=["secret thought"])

    async def node(state: MessagesState) -> Json:
        await muted.with_config(tags=["nostream"]).ainvoke("x")
        return {"messages": [await loud.ainvoke("x")]}

    run = await thread(single(node)).say("go")
    assert {u["model"]: u["outputTokens"] for u in run.end["usage"]} == {"small": 2, "scripted": 2}
    assert run.text == "a b"


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
async def test_the_agents_of_the_catalog(name: str, thread: NewThread, tmp_path: Path) -> None:
    """A plain turn of each is a legal stream."""
    with claude("hello") as behind:
        deps = Deps(ScriptedModel(turns=["hello"] * 9), claude=behind.setup(tmp_path))
        run = await thread(AGENTS[name].build(deps), state_keys=AGENTS[name].state_keys).say("hi")
    assert run.outcome in ("success", "interrupt")
