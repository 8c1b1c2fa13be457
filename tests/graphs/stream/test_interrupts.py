"""LangGraph interrupts as AG-UI shows them, and `resume[]` as a value: tables of the rules."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Interrupt

from graphs.stream import NO_RESUME, map_interrupt_payload, map_interrupts, refusal, resolve_resume_from_run_agent_input

OBJECT = {"type": "object"}
REFUSED = {"approved": False, "reason": "用户取消"}


@dataclasses.dataclass
class Question:
    type: str
    message: str


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("Sure?", {"reason": "input_required", "metadata": {"payload": "Sure?"}}),
        (None, {"reason": "input_required", "metadata": {"payload": None}}),
        ([1], {"reason": "input_required", "metadata": {"payload": [1]}}),
        ({}, {"reason": "input_required", "metadata": {"payload": {}}}),
        ({"reason": " why "}, {"reason": "why"}),
        ({"reason": "why", "type": "approval"}, {"reason": "why"}),
        ({"reason": "  ", "type": "approval"}, {"reason": "confirmation"}),
        ({"reason": 5, "type": " select "}, {"reason": "select"}),
        ({"type": "   "}, {"reason": "input_required"}),
        ({"type": 5}, {"reason": "input_required"}),
        (
            {"message": "m", "toolCallId": "c1", "expiresAt": "2026-01-01T00:00:00Z"},
            {"message": "m", "toolCallId": "c1", "expiresAt": "2026-01-01T00:00:00Z"},
        ),
        ({"message": 5, "toolCallId": None, "expiresAt": 7, "responseSchema": True}, {}),
        ({"expiresAt": datetime(2026, 1, 1, tzinfo=UTC)}, {"expiresAt": "2026-01-01T00:00:00+00:00"}),
        ({"responseSchema": OBJECT}, {"responseSchema": OBJECT}),
        (Question("approval", "ok?"), {"reason": "confirmation", "message": "ok?"}),
    ],
)
def test_payload(payload: Any, expected: dict[str, Any]) -> None:
    """Absent keys are left out; `metadata` is the record and `payload` the value as it was."""
    shown = map_interrupt_payload("i1", payload).model_dump(mode="json", by_alias=True)
    record = shown["metadata"].pop("payload")
    if "metadata" in expected:
        assert record == expected.pop("metadata")["payload"]
        assert shown.pop("metadata") == {}
    else:
        assert shown.pop("metadata") == record
    assert shown == {"id": "i1", "reason": "input_required", **expected}


@pytest.mark.parametrize(
    ("own", "of_graph", "schema"),
    [(None, OBJECT, OBJECT), ({"type": "string"}, OBJECT, {"type": "string"}), (True, OBJECT, OBJECT), (None, None, None)],
)
def test_response_schema(own: Any, of_graph: Any, schema: Any) -> None:
    """The payload's own object, else what `interrupt(response_schema=…)` said."""
    assert map_interrupt_payload("i1", {"responseSchema": own}, of_graph).response_schema == schema


def test_each_interrupt_once_in_order() -> None:
    """Nested graphs report theirs at every level."""
    one, two = Interrupt("a", id="1"), Interrupt("b", id="2")
    assert [i.id for i in map_interrupts([one, two, one])] == ["1", "2"]


def test_a_question_about_a_repeated_call_names_the_newest() -> None:
    """`c1` was used before: on the wire the open call is `c1~2`; the payload's own copy stays as it was."""

    def ask(id: str) -> AIMessage:
        return AIMessage("", id=id, tool_calls=[{"name": "f", "args": {}, "id": "c1", "type": "tool_call"}])

    messages = [ask("m1"), ToolMessage("x", tool_call_id="c1"), ask("m2")]
    (shown,) = map_interrupts([Interrupt({"toolCallId": "c1"}, id="1")], messages)
    assert shown.tool_call_id == "c1~2"
    assert (shown.metadata or {})["toolCallId"] == "c1"


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        ({"type": "approval"}, REFUSED),
        ({"type": "select"}, {"cancelled": True, "reason": "用户取消"}),
        ("text", {"cancelled": True, "reason": "用户取消"}),
    ],
)
def test_refusal(payload: Any, value: Any) -> None:
    """An approval is not given; any other kind is a typed cancellation."""
    assert refusal(payload) == value


FALSY: list[Any] = ["", 0, False, None, [], {}]


def resolved(id: str, **payload: Any) -> dict[str, Any]:
    return {"interruptId": id, "status": "resolved", **payload}


def cancelled(id: str) -> dict[str, Any]:
    return {"interruptId": id, "status": "cancelled"}


@pytest.mark.parametrize(
    ("resume", "value"),
    [
        (None, NO_RESUME),
        ([], NO_RESUME),
        ([resolved("1", payload={"a": 1})], {"a": 1}),
        *[([resolved("1", payload=payload)], payload) for payload in FALSY],
        ([resolved("1")], None),
        ([resolved("1", payload="x"), resolved("2", payload=None)], {"1": "x", "2": None}),
        ([cancelled("1")], REFUSED),
        ([cancelled("1"), cancelled("2")], REFUSED),
        ([resolved("1", payload="x"), cancelled("2")], {"1": "x", "2": REFUSED}),
    ],
)
def test_resume(resume: Any, value: Any) -> None:
    """Any JSON is an answer, also null; `forwardedProps.command.resume` is none."""
    fields = {"threadId": "t", "runId": "r", "messages": [], "forwardedProps": {"command": {"resume": "no"}}}
    given = RunAgentInput.model_validate(fields | ({} if resume is None else {"resume": resume}))
    assert resolve_resume_from_run_agent_input(given) == value
