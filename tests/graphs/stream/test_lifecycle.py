"""The guard: no event passes that would make the stream illegal, and what is open can always be closed."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import BaseEvent, Event
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from graphs.stream.ledger import CallLedger
from graphs.stream.lifecycle import Lifecycle, Refused
from tests.support.protocol import line
from tests.support.stream_lifecycle import lifecycle_faults

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
IDS = ("a", "b")


def event(kind: str, **fields: Any) -> BaseEvent:
    made: BaseEvent = EVENT.validate_python({"type": kind, **fields})
    return made


def lines(events: list[BaseEvent]) -> list[str]:
    return [line(e.model_dump(mode="json", by_alias=True)) for e in events]


def every_event() -> list[BaseEvent]:
    made = []
    for i in IDS:
        made += [
            event("TEXT_MESSAGE_START", messageId=i),
            event("TEXT_MESSAGE_CONTENT", messageId=i, delta="x"),
            event("TEXT_MESSAGE_END", messageId=i),
        ]
        made += [event("REASONING_START", messageId=i), event("REASONING_END", messageId=i)]
        made += [event(f"REASONING_MESSAGE_{k}", messageId=i, **({"role": "reasoning"} if k == "START" else {})) for k in ("START", "END")]
        made += [event("TOOL_CALL_START", toolCallId=i, toolCallName="f"), event("TOOL_CALL_END", toolCallId=i)]
        made += [event("TOOL_CALL_ARGS", toolCallId=i, delta=d) for d in ("x", "")]
        made += [event("TOOL_CALL_RESULT", messageId="t", toolCallId=i, content="x")]
        made += [event("STEP_STARTED", stepName=i), event("STEP_FINISHED", stepName=i)]
        made += [event("SUBAGENT_STARTED", subagentRunId=i, name="n"), event("SUBAGENT_FINISHED", subagentRunId=i)]
        made += [event("SUBAGENT_ERROR", subagentRunId=i, message="x"), event("TEXT_MESSAGE_START", messageId=f"{i}{i}", subagentRunId=i)]
    return made


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(every_event()), max_size=40))
def test_whatever_is_offered_the_stream_is_legal(offered: list[BaseEvent]) -> None:
    """Events in any order: what is admitted, and then closed, breaks no rule; nothing empty passes; a call has one result."""
    guard = Lifecycle()
    sent: list[BaseEvent] = []
    for one in offered:
        try:
            sent += guard.admit(one)
        except Refused:
            continue
    sent += guard.close_all()
    wire = [e.model_dump(mode="json", by_alias=True) for e in sent]
    assert list(lifecycle_faults(wire)) == []
    results = [e["toolCallId"] for e in wire if e["type"] == "TOOL_CALL_RESULT"]
    assert len(results) == len(set(results))
    assert all(e.get("delta") != "" for e in wire)


def test_closing_order() -> None:
    """A message's reasoning, text and calls, then what contains them, the innermost first."""
    guard = Lifecycle()
    for one in (
        event("SUBAGENT_STARTED", subagentRunId="outer", name="n"),
        event("SUBAGENT_STARTED", subagentRunId="inner", name="n", parentSubagentRunId="outer"),
        event("STEP_STARTED", stepName="s", subagentRunId="inner"),
        event("TOOL_CALL_START", toolCallId="c", toolCallName="f"),
        event("TEXT_MESSAGE_START", messageId="m"),
        event("REASONING_MESSAGE_START", messageId="r", role="reasoning"),
    ):
        guard.admit(one)
    assert lines(guard.close_all()) == [
        "REASONING_MESSAGE_END messageId=r",
        "TEXT_MESSAGE_END messageId=m",
        "TOOL_CALL_END toolCallId=c",
        "STEP_FINISHED subagentRunId=inner stepName=s",
        "SUBAGENT_FINISHED subagentRunId=inner",
        "SUBAGENT_FINISHED subagentRunId=outer",
    ]
    assert guard.close_all() == []


@pytest.mark.parametrize(
    ("how", "ending"),
    [
        ({}, "SUBAGENT_FINISHED subagentRunId=a"),
        ({"suspended": ["i"]}, "SUBAGENT_FINISHED subagentRunId=a outcome={'type': 'suspended'}"),
        ({"failed": "sorry"}, "SUBAGENT_ERROR subagentRunId=a message=sorry"),
    ],
)
def test_sub_agents_end_as_the_run_does(how: dict[str, Any], ending: str) -> None:
    """Done, suspended at an interrupt, or failed."""
    guard = Lifecycle()
    guard.admit(event("SUBAGENT_STARTED", subagentRunId="a", name="n"))
    assert lines(guard.close_all(**how)) == [ending]


def test_a_sub_agent_takes_what_it_owns_with_it() -> None:
    """Its open items close before its own end; others stay open."""
    guard = Lifecycle()
    for one in (
        event("SUBAGENT_STARTED", subagentRunId="a", name="n"),
        event("TEXT_MESSAGE_START", messageId="mine", subagentRunId="a"),
        event("TEXT_MESSAGE_START", messageId="other"),
    ):
        guard.admit(one)
    assert lines(guard.admit(event("SUBAGENT_FINISHED", subagentRunId="a"))) == [
        "TEXT_MESSAGE_END subagentRunId=a messageId=mine",
        "SUBAGENT_FINISHED subagentRunId=a",
    ]
    assert guard.is_open("text", "other")


def test_nothing_follows_the_end() -> None:
    """One terminal event, and then nothing."""
    guard = Lifecycle()
    guard.admit(event("RUN_FINISHED", threadId="t", runId="r"))
    for late in (event("CUSTOM", name="n", value=1), event("RUN_ERROR", message="x")):
        with pytest.raises(Refused, match="after the run's terminal event"):
            guard.admit(late)


def test_calls_of_the_history() -> None:
    """One that waits may get its result, none may start again, one that has its result gets no other."""
    guard = Lifecycle({"open"})
    guard.know_call("done", answered=True)
    assert guard.admit(event("TOOL_CALL_RESULT", messageId="t", toolCallId="open", content="x"))
    for illegal in (
        event("TOOL_CALL_START", toolCallId="open", toolCallName="f"),
        event("TOOL_CALL_RESULT", messageId="t", toolCallId="done", content="x"),
        event("TOOL_CALL_RESULT", messageId="t", toolCallId="other", content="x"),
    ):
        with pytest.raises(Refused):
            guard.admit(illegal)


def test_the_ledger_counts_turns() -> None:
    """`c1`, `c1~2`, `c1~3`; the newest one is current; an id that already looks counted is the model's own business."""
    ledger = CallLedger()
    assert ledger.current("c1") is None
    assert [ledger.announce("c1") for _ in range(3)] == ["c1", "c1~2", "c1~3"]
    assert ledger.current("c1") == "c1~3"
    ledger.answer("c1~2")
    assert ledger.unanswered == {"c1": "c1", "c1~3": "c1"}
    assert CallLedger({"c1~2", "c1"}).announce("c1") == "c1~3"


def test_the_ledger_tells_sub_agents_apart() -> None:
    """Side by side they may use the same ids; around and inside each other one may run what the other called; an answer stays one."""
    ledger = CallLedger()
    ledger.learn("h", answered=False)
    one, two = ledger.announce("c", "a:1"), ledger.announce("c", "a:2")
    assert [ledger.current("c", owner) for owner in ("a:1", "a:2", "a:3", "a:1|b:1", "a:2|b:1")] == [one, two, None, one, two]
    assert [ledger.current("h", owner) for owner in (None, "a:1")] == ["h", "h"]
    assert ledger.waiting("a:2") == ["h", two]
    ledger.answer(one)
    assert (ledger.current("c", "a:1|b:1"), ledger.current("c", "a:1")) == (None, one)
    ledger.answer("h")
    ledger.learn("h", answered=False)
    assert "h" not in ledger.unanswered
