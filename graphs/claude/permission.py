"""Who may use which tool. A call that needs the user's word is deferred: the CLI keeps it in its session and ends, the graph asks, and
the resumed CLI runs the same call first, if the user allows it.

The CLI asks in two places, the `PreToolUse` hook and the permission callback. A resumed CLI may run the deferred call before its hooks
are registered, so both give the same answer. Only a call alone can be deferred: another one beside it is told to wait.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

from claude_agent_sdk import HookContext, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from claude_agent_sdk.types import PreToolUseHookSpecificOutput, SyncHookJSONOutput

from graphs.claude.session import Asked
from graphs.hitl import ApprovalAnswer

ONE_AT_A_TIME = "This tool needs the user's approval, and another call waits for it. Call it again, alone, in a later turn."


@dataclass(slots=True)
class Gate:
    """The permissions of one run: `allowed` tools are never asked about, `asked` is the call that the user answered with `answer`."""

    allowed: Collection[str]
    asked: Asked | None = None
    answer: ApprovalAnswer | None = None
    _deferred: str | None = None

    async def before_tool(self, call: Any, tool_use_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """The SDK's `PreToolUse` hook. Nothing to say about a tool that is allowed anyway."""
        if call["tool_name"] in self.allowed:
            return {}
        if not (decision := self._hook_decision(call["tool_use_id"])):
            return {}
        return {"hookSpecificOutput": cast(PreToolUseHookSpecificOutput, {"hookEventName": "PreToolUse", **decision})}

    async def may_use(
        self, name: str, input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """The SDK's `can_use_tool`: asked where the hook was not, or could not defer."""
        if self._answered(context.tool_use_id):
            return self._result(input)
        return PermissionResultDeny(message=ONE_AT_A_TIME)

    def _hook_decision(self, tool_use_id: str) -> dict[str, str]:
        if self._answered(tool_use_id):
            if self.answer and self.answer.approved:
                return {"permissionDecision": "allow"}
            return {}  # the callback refuses it, in the user's words alone: the CLI would call those of a hook an error of it
        if self._deferred in (None, tool_use_id):
            self._deferred = tool_use_id
            return {"permissionDecision": "defer"}
        return {"permissionDecision": "deny", "permissionDecisionReason": ONE_AT_A_TIME}

    def _answered(self, tool_use_id: str | None) -> bool:
        return self.asked is not None and self.answer is not None and self.asked["id"] == tool_use_id

    def _result(self, input: dict[str, Any]) -> PermissionResultAllow | PermissionResultDeny:
        assert self.answer is not None
        if self.answer.approved:
            return PermissionResultAllow(updated_input=input)
        return PermissionResultDeny(message=refusal(self.answer))


def refusal(answer: ApprovalAnswer) -> str:
    """What Claude reads of a call that the user refused."""
    return f"已拒绝：{answer.reason or '未说明原因'}"
