"""Who may use which tool: the hook and the callback agree, and one call waits at a time."""

from __future__ import annotations

from typing import Any, cast

import pytest
from claude_agent_sdk import HookContext, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from claude_agent_sdk.types import PreToolUseHookInput

from graphs.claude.permission import ONE_AT_A_TIME, Gate
from graphs.claude.session import Asked
from graphs.hitl import ApprovalAnswer

ASKED = Asked(id="c1", name="WebFetch", input={"url": "u"})
YES, NO = ApprovalAnswer(approved=True), ApprovalAnswer(approved=False, reason="later")


async def hook(gate: Gate, name: str, call_id: str) -> tuple[Any, Any]:
    call = cast(PreToolUseHookInput, {"hook_event_name": "PreToolUse", "tool_name": name, "tool_use_id": call_id, "tool_input": {}})
    said: Any = await gate.before_tool(call, call_id, HookContext(signal=None))
    decision = said.get("hookSpecificOutput", {})
    return decision.get("permissionDecision"), decision.get("permissionDecisionReason")


@pytest.mark.parametrize(
    ("answer", "hook_says", "reason"),
    [(YES, "allow", None), (NO, None, "已拒绝：later"), (ApprovalAnswer(approved=False), None, "已拒绝：未说明原因")],
)
async def test_an_answered_call(answer: ApprovalAnswer, hook_says: str | None, reason: str | None) -> None:
    """An allowed call runs with the input that was shown, whichever the CLI asks. A refusal is the callback's alone."""
    gate = Gate(("Read",), ASKED, answer)
    assert await hook(gate, "WebFetch", "c1") == (hook_says, None)
    result = await gate.may_use("WebFetch", {"url": "u"}, ToolPermissionContext(tool_use_id="c1"))
    expected = PermissionResultAllow(updated_input={"url": "u"}) if answer.approved else PermissionResultDeny(message=reason or "")
    assert result == expected


async def test_an_answer_is_for_its_call_alone() -> None:
    """The same tool in another call asks anew."""
    gate = Gate((), ASKED, YES)
    assert (await hook(gate, "WebFetch", "c2"))[0] == "defer"
    assert await gate.may_use("WebFetch", {}, ToolPermissionContext(tool_use_id="c3")) == PermissionResultDeny(message=ONE_AT_A_TIME)


async def test_one_call_waits_at_a_time() -> None:
    """The CLI keeps one deferred call: another one beside it is refused, the first stays deferred when it is asked about again."""
    gate = Gate(("Read",))
    assert [await hook(gate, "Bash", "c1"), await hook(gate, "Bash", "c2"), await hook(gate, "Bash", "c1")] == [
        ("defer", None),
        ("deny", ONE_AT_A_TIME),
        ("defer", None),
    ]


async def test_an_allowed_tool_is_not_asked_about() -> None:
    """Nothing is said, so the CLI's own rules count."""
    assert await hook(Gate(("Read",)), "Read", "c1") == (None, None)
