"""The demo path: four questions in one node, then the action. No model."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

from graphs.dev.state import EXTRAS, PRIORITY, PURPOSE, DevState
from graphs.hitl import (
    CANCELLED_REASON,
    ApprovalAnswer,
    ApprovalRequest,
    Cancelled,
    request_approval,
    request_input,
    request_multi_select,
    request_select,
)


async def collect_hitl(state: DevState) -> dict[str, Any]:
    """Purpose, priority, extras, approval. The node runs again from the top on each resume: nothing happens before the last answer."""
    purpose = request_input(PURPOSE)
    if isinstance(purpose, Cancelled):
        return _cancelled(purpose)
    priority = request_select(PRIORITY)
    if isinstance(priority, Cancelled):
        return _cancelled(priority)
    extras = request_multi_select(EXTRAS)
    if isinstance(extras, Cancelled):
        return _cancelled(extras)
    answers = {"userPurpose": purpose.value, "priority": priority.value, "extras": extras.values}
    approval = request_approval(ApprovalRequest(message="是否批准执行？", details={"toolInput": state.get("input", ""), **answers}))
    return {**answers, "approval": approval.model_dump(exclude_none=True)}


def _cancelled(answer: Cancelled) -> dict[str, Any]:
    """A question that was closed counts as a refusal of the whole."""
    return {"approval": ApprovalAnswer(approved=False, reason=answer.reason or CANCELLED_REASON).model_dump()}


async def execute_hitl(state: DevState) -> dict[str, Any]:
    """The simulated action, or why it was refused."""
    approval = state["approval"]
    if not approval["approved"]:
        reason = approval.get("reason") or "未说明原因"
        return {"result": {"status": "rejected", "reason": reason}, "messages": [AIMessage(f"已拒绝：{reason}")]}
    result = {
        "status": "approved",
        "action": "execute_tool",
        "toolInput": state.get("input", ""),
        "userPurpose": state["userPurpose"],
        "priority": state["priority"],
        "extras": state["extras"],
    }
    extras = "、".join(state["extras"]) or "无"
    text = f"已批准执行：目的「{state['userPurpose']}」，优先级 {state['priority']}，附加动作 {extras}。"
    return {"result": result, "messages": [AIMessage(text)]}
