"""The `tools` channel and `values` events, row by row: what a tool says becomes a result, once, under the stored id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from graphs.stream import AguiTransformer
from tests.support.protocol import Event, call, delta, end, finish, line, project, start, tool, values
from tests.support.streams import StreamRecorder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
CALL = ["TOOL_CALL_START toolCallId=c1 toolCallName=f", "TOOL_CALL_ARGS toolCallId=c1 delta={}"]
CLOSED = "TOOL_CALL_END toolCallId=c1"
STARTED = tool("started", tool_name="f", input={})
ANNOUNCED = [start(), call(0, "c1"), finish(0, "tool_call", id="c1", name="f", args={}), end()]
MODELLED = ["TOOL_CALL_START toolCallId=c1 toolCallName=f parentMessageId=m1", CALL[1], CLOSED]


@dataclass
class Injected:
    secret: str = "state"


def result(content: str, call_id: str = "c1", **more: Any) -> str:
    """A RESULT of any message id."""
    return line({"type": "TOOL_CALL_RESULT", "toolCallId": call_id, "content": content, "role": "tool", **more})


def answer(content: Any = "ok", call_id: str = "c1", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id=call_id, id=fields.pop("id", "t1"), **fields)


def asking(*ids: str, args: dict[str, Any] | None = None, id: str = "m1") -> AIMessage:
    return AIMessage("", id=id, tool_calls=[{"name": "f", "args": args or {}, "id": i, "type": "tool_call"} for i in ids])


ROWS: dict[str, tuple[Sequence[Event], Sequence[str]]] = {
    "a call that no model announced": ([STARTED, tool("finished", output="ok")], [*CALL, CLOSED, result("ok")]),
    "its input is a string": (
        [tool("started", tool_name="f", input="raw é"), tool("finished", output="ok")],
        [CALL[0], "TOOL_CALL_ARGS toolCallId=c1 delta=raw é", CLOSED, result("ok")],
    ),
    "its input is compact JSON, without what was injected": (
        [tool("started", tool_name="f", input={"a": [1, "é"], "state": Injected(), "n": None}), tool("finished", output="ok")],
        [CALL[0], 'TOOL_CALL_ARGS toolCallId=c1 delta={"a":[1,"é"],"n":null}', CLOSED, result("ok")],
    ),
    "it has no input and no name": (
        [tool("started"), tool("finished", output="ok")],
        ["TOOL_CALL_START toolCallId=c1 toolCallName=unknown", CALL[1], CLOSED, result("ok")],
    ),
    "the model's own arguments, where the state has them": (
        [
            values(HumanMessage("x", id="u")),
            values(asking("c1", args={"q": 1})),
            tool("started", tool_name="f", input={"q": 1, "state": {"k": "secret"}}),
            tool("finished", output="ok"),
        ],
        [CALL[0], 'TOOL_CALL_ARGS toolCallId=c1 delta={"q":1}', CLOSED, result("ok")],
    ),
    "an announced call is not announced again": ([*ANNOUNCED, STARTED, tool("finished", output="ok")], [*MODELLED, result("ok")]),
    "a result closes a call still open": (
        [start(), call(0, "c1"), delta(0, "args", "{}"), STARTED, tool("finished", output="ok")],
        [MODELLED[0], MODELLED[1], CLOSED, result("ok")],
    ),
    "a call that was never started has no result": ([tool("finished", output="ok"), tool("error", message="x")], []),
    "a result comes once": ([STARTED, tool("finished", output="ok"), tool("finished", output="again")], [*CALL, CLOSED, result("ok")]),
    # what a tool returns
    "a ToolMessage: its text": ([STARTED, tool("finished", output=answer())], [*CALL, CLOSED, result("ok", messageId="t1")]),
    "a ToolMessage of blocks: their text": (
        [STARTED, tool("finished", output=answer([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))],
        [*CALL, CLOSED, result("ab", messageId="t1")],
    ),
    "a ToolMessage without text: JSON": (
        [STARTED, tool("finished", output=answer([{"type": "image", "url": "u"}]))],
        [*CALL, CLOSED, result('[{"type": "image", "url": "u"}]', messageId="t1")],
    ),
    "a ToolMessage with an error": (
        [STARTED, tool("finished", output=answer("bad", status="error"))],
        [*CALL, CLOSED, result("bad", messageId="t1", metadata={"error": True})],
    ),
    "a Command: the message in it": (
        [STARTED, tool("finished", output=Command(update={"k": 1, "messages": [answer()]}))],
        [*CALL, CLOSED, result("ok", messageId="t1")],
    ),
    "a list: the message of this call": (
        [STARTED, tool("finished", output=[answer("other", "c2", id="t2"), Command(update={"messages": [answer()]})])],
        [*CALL, CLOSED, result("ok", messageId="t1")],
    ),
    "a dict: JSON": ([STARTED, tool("finished", output={"é": float("nan")})], [*CALL, CLOSED, result('{"é": null}')]),
    "an object: JSON by the rule": ([STARTED, tool("finished", output=Injected())], [*CALL, CLOSED, result('{"secret": "state"}')]),
    "nothing: null": ([STARTED, tool("finished", output=None)], [*CALL, CLOSED, result("null")]),
    "no text": ([STARTED, tool("finished", output=answer(""))], [*CALL, CLOSED, result("", messageId="t1")]),
    "a lone surrogate": ([STARTED, tool("finished", output="\ud800")], [*CALL, CLOSED, result("\ufffd")]),
    # errors
    "an error waits for its ToolMessage, whose text and id it takes": (
        [*ANNOUNCED, STARTED, tool("error", message="host db-7 refused"), values(asking("c1"), answer("the tool failed", status="error"))],
        [*MODELLED, result("the tool failed", messageId="t1", metadata={"error": True})],
    ),
    "an error that no message is made of": (
        [STARTED, tool("error", message="boom")],
        [*CALL, CLOSED, result("boom", metadata={"error": True})],
    ),
    # results without a tools event
    "an unknown tool's refusal appears in the state": (
        [*ANNOUNCED, values(asking("c1")), values(asking("c1"), answer("no such tool", status="error"))],
        [*MODELLED, result("no such tool", messageId="t1", metadata={"error": True})],
    ),
    "a state without the answer says nothing": ([*ANNOUNCED, values(asking("c1"))], MODELLED),
    "what is not a state of messages says nothing": ([*ANNOUNCED, values(), tool("news")], MODELLED),
    "the first state is the history: its results were sent before": ([values(asking("c1"), answer())], []),
    "an open call of the history gets its result": (
        [values(asking("c1")), STARTED, tool("finished", output=answer())],
        [result("ok", messageId="t1")],
    ),
    "a repeated id belongs to the newest message that made it": (
        [
            values(asking("c1"), answer()),
            start("m2"),
            call(0, "c1"),
            finish(0, "tool_call", id="c1", name="f", args={}),
            end(),
            values(asking("c1"), answer(), asking("c1", id="m2"), answer("new", id="t2")),
        ],
        [
            "TOOL_CALL_START toolCallId=c1~2 toolCallName=f parentMessageId=m2",
            "TOOL_CALL_ARGS toolCallId=c1~2 delta={}",
            "TOOL_CALL_END toolCallId=c1~2",
            result("new", "c1~2", messageId="t2"),
        ],
    ),
    # progress
    "progress is an activity, never arguments": (
        [STARTED, tool("output-delta", delta="1"), tool("output-delta", delta={"n": float("inf")}), tool("finished", output="ok")],
        [
            *CALL,
            "ACTIVITY_SNAPSHOT messageId=tool-progress:c1 activityType=tool_progress content={'toolCallId': 'c1', 'output': ['1']}",
            "ACTIVITY_DELTA messageId=tool-progress:c1 activityType=tool_progress"
            " patch=[{'op': 'add', 'path': '/output/-', 'value': {'n': None}}]",
            CLOSED,
            result("ok"),
        ],
    ),
}
HISTORY = {"the first state is the history: its results were sent before", "an open call of the history gets its result"}


@pytest.mark.parametrize("row", ROWS)
async def test_tools(row: str, stream_recorder: StreamRecorder) -> None:
    """Each row is what the name says, and a legal stream."""
    events, expected = ROWS[row]
    done = await project(events)
    assert [_without_made_up_id(event, expected) for event in done.agui_events] == [_sorted(text) for text in expected]
    messages = (
        [{"id": "m1", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]
        if row in HISTORY or row.startswith("a repeated")
        else []
    )
    stream_recorder.record(row, {**INPUT, "messages": messages}, done.failed if "string" in row else done.stream)


def _without_made_up_id(event: dict[str, Any], expected: Sequence[str]) -> str:
    """A result that has no ToolMessage gets an id of its own, which no table can name."""
    if event["type"] == "TOOL_CALL_RESULT" and event["messageId"] not in ("t1", "t2"):
        UUID(event.pop("messageId"))
    return _sorted(line(event))


def _sorted(text: str) -> str:
    return " ".join(sorted(text.split(" ")))


async def test_a_run_that_fails_reports_no_results_of_its_own() -> None:
    """The error text of a tool that killed the run stays in the log."""
    done = await project([STARTED, tool("error", message="secret")], error=RuntimeError("secret"))
    assert "secret" not in str(done.agui_events)


async def test_announced_ids_are_wire_ids() -> None:
    """`c1~3` in the history makes the next `c1` the fourth."""
    events = [start(), call(0, "c1"), finish(0, "tool_call", id="c1", name="f", args={}), end()]
    done = await project(events, AguiTransformer(announced={"c1", "c1~2", "c1~3"}))
    assert done.lines[0].startswith("TOOL_CALL_START toolCallId=c1~4 ")
