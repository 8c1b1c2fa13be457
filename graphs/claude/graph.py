"""One node, `claude`, which goes round once more for each call that the user was asked about."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.claude.session import Asked, Line, Session, extend
from graphs.claude.usage import report_usage
from graphs.claude_setup import ClaudeSetup, MissingSdk, NoPrompt
from graphs.completion import AGUI_EVENT
from graphs.hitl import ApprovalAnswer, ApprovalRequest, request_approval
from graphs.messages import DeltaMessagesState

TRANSCRIPT_EVERY = 20
"""Runs between two checkpoints that hold the whole transcript. (Not by the name of the messages' own number: the annotations of a state's
base class are read with the names of this module.)"""


class ClaudeState(DeltaMessagesState, total=False):
    """None of it public. `claudeTranscript` is the session's file, `claudeAsks` the call that waits for the user."""

    claudeSessionId: str
    claudeTranscript: Annotated[list[Line], DeltaChannel(extend, snapshot_frequency=TRANSCRIPT_EVERY)]
    claudeAsks: Asked | None


class ToolApproval(ApprovalRequest):
    """An approval of one tool call, shown at its card."""

    toolCallId: str


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """Works without the SDK too, until it is run: then it raises `MissingSdk`. Without a setup Claude reads the working directory."""
    setup = deps.claude or ClaudeSetup(Path.cwd())

    async def claude(state: ClaudeState, config: RunnableConfig) -> dict[str, Any]:
        asked = state.get("claudeAsks")
        # the node runs again from here when the answer comes: nothing has happened before
        answer = _permission(asked) if asked else None
        return await _turn(setup, state, answer, config)

    graph = StateGraph(ClaudeState)
    graph.add_node("claude", claude)
    graph.add_edge(START, "claude")
    graph.add_conditional_edges("claude", lambda state: "claude" if state.get("claudeAsks") else END, ["claude", END])
    return graph


def _permission(asked: Asked) -> ApprovalAnswer:
    details = {"tool": asked["name"], "input": asked["input"]}
    return request_approval(ToolApproval(message=f"允许 Claude 使用 {asked['name']} 吗？", details=details, toolCallId=asked["id"]))


async def _turn(setup: ClaudeSetup, state: ClaudeState, answer: ApprovalAnswer | None, config: RunnableConfig) -> dict[str, Any]:
    prompt = last_prompt(state["messages"]) if answer is None else None
    if find_spec("claude_agent_sdk") is None:
        raise MissingSdk
    from graphs.claude.mapping import Reply
    from graphs.claude.permission import Gate
    from graphs.claude.run import run_claude

    write = get_stream_writer()
    outcome = await run_claude(
        setup,
        prompt,
        Session(state.get("claudeSessionId"), state.get("claudeTranscript") or ()),
        Gate(setup.allowed, state.get("claudeAsks"), answer),
        Reply([message.tool_call_id for message in state["messages"] if isinstance(message, ToolMessage)]),
        lambda event: write({"name": AGUI_EVENT, "payload": event}),
    )
    await report_usage(config, outcome.model, outcome.usage)
    return {
        "messages": outcome.messages,
        "claudeSessionId": outcome.session_id,
        "claudeTranscript": outcome.added,
        "claudeAsks": outcome.asks,
    }


def last_prompt(messages: Sequence[BaseMessage]) -> str:
    """The last text of the user that is not blank. Raises `NoPrompt`."""
    texts = (str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage))
    for text in texts:
        if text.strip():
            return text
    raise NoPrompt
