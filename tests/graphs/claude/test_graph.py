"""The node around the SDK: what it asks, and what it says where it cannot."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from graphs.catalog import AGENTS, Deps
from graphs.claude.graph import build, last_prompt
from graphs.claude.session import Line, Session, extend
from graphs.claude_setup import MissingSdk, NoPrompt
from tests.support.conversation import Conversation

PICTURE: list[str | dict[str, str]] = [{"type": "image", "url": "https://example.com/cat.png"}]


@pytest.mark.parametrize(
    ("messages", "prompt"),
    [
        ([HumanMessage("a")], "a"),
        ([HumanMessage("a"), AIMessage("b"), HumanMessage(" c\n")], " c\n"),
        ([HumanMessage("a"), HumanMessage(" \n")], "a"),
        ([HumanMessage("a"), HumanMessage(PICTURE)], "a"),
        ([HumanMessage([{"type": "text", "text": "what is it?"}, *PICTURE])], "what is it?"),
    ],
)
def test_the_prompt_is_the_users_last_text(messages: Sequence[BaseMessage], prompt: str) -> None:
    """Not trimmed; a blank one is none."""
    assert last_prompt(messages) == prompt


@pytest.mark.parametrize("messages", [[], [AIMessage("a")], [HumanMessage(" ")], [HumanMessage(PICTURE)]])
def test_without_a_text_there_is_nothing_to_ask(messages: Sequence[BaseMessage]) -> None:
    """The error says so."""
    with pytest.raises(NoPrompt, match="there is none"):
        last_prompt(messages)


async def test_without_the_sdk_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is built all the same, so that its threads can be read; a run names the extra."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "claude_agent_sdk", raising=False)
    monkeypatch.setattr(sys, "path_importer_cache", {})
    assert "uv sync --extra claude" in str(AGENTS["claudeAgent"].unavailable("offline"))
    with pytest.raises(MissingSdk, match="uv sync --extra claude"):
        await Conversation(build(Deps(None))).say("hi")


@pytest.mark.parametrize(
    ("model", "works"),
    [("offline", True), ("anthropic:claude-x", True), ("bedrock_converse:anthropic.x", True), ("openai:gpt", False), ("deepseek:x", False)],
)
def test_it_speaks_to_claude_alone(model: str, works: bool) -> None:
    """Another provider's model makes it unavailable, with the ways out."""
    reason = AGENTS["claudeAgent"].unavailable(model)
    assert (reason is None) == works
    assert works or "anthropic:…" in str(reason)


async def test_a_session_is_loaded_in_any_folder() -> None:
    """The SDK's key names a project by its folder, which is another in every process; another session's key has nothing."""
    lines = [Line(file="", entry={"type": "user"}), Line(file="subagents/agent-1", entry={"type": "x"})]
    session = Session("s", lines)
    assert await session.load({"project_key": "anywhere", "session_id": "s"}) == [{"type": "user"}]
    assert await session.load({"project_key": "p", "session_id": "s", "subpath": "subagents/agent-1"}) == [{"type": "x"}]
    assert await session.load({"project_key": "p", "session_id": "other"}) is None
    assert await session.list_subkeys({"session_id": "s"}) == ["subagents/agent-1"]
    await session.append({"project_key": "p", "session_id": "s"}, [{"type": "assistant"}])
    assert session.added == [Line(file="", entry={"type": "assistant"})]
    assert extend(lines, [session.added, []]) == [*lines, *session.added]
