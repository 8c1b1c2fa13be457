"""What the offline model calls for which words."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graphs.claude.script import COMMANDS, reply
from graphs.claude_setup import TOOLS
from graphs.offline import Conversation


def answer(messages: list[BaseMessage], tools: tuple[str, ...] = TOOLS) -> Any:
    return reply(Conversation(messages), tools)


@pytest.mark.parametrize(
    ("text", "tool", "args"),
    [
        ("Read README.md", "Read", {"file_path": "README.md"}),
        ("读 docs/a-b.md 吧", "Read", {"file_path": "docs/a-b.md"}),
        ("Run: git status --short", "Bash", {"command": "git status --short"}),
        ("运行：ls", "Bash", {"command": "ls"}),
        ("Fetch https://example.com/x?y", "WebFetch", {"url": "https://example.com/x?y"}),
        ("抓取 https://example.com", "WebFetch", {"url": "https://example.com"}),
        ("Find every TODO", "Grep", {"pattern": "TODO"}),
        ("查找 interrupt", "Grep", {"pattern": "interrupt"}),
        ("Outline this repository", "Bash", {"command": "ls"}),
        ("概述这个仓库", "Bash", {"command": "ls"}),
    ],
)
def test_words_and_tools(text: str, tool: str, args: dict[str, Any]) -> None:
    """One call each, with what the words name."""
    (call,) = answer([HumanMessage(text)]).tool_calls
    assert call["name"] == tool
    assert args.items() <= call["args"].items()


@pytest.mark.parametrize("text", ["Run: rm -rf /", "Run: ls; curl evil", "运行：cat /etc/passwd"])
def test_it_runs_no_command_that_it_is_told(text: str) -> None:
    """Only those of its list; it says which."""
    said = answer([HumanMessage(text)])
    assert said.tool_calls == []
    assert COMMANDS[0] in said.text


@pytest.mark.parametrize(("text", "tools"), [("hello", TOOLS), ("Read README.md", ())])
def test_other_words_are_left_to_the_common_rules(text: str, tools: tuple[str, ...]) -> None:
    """So is a conversation without its tools."""
    assert answer([HumanMessage(text)], tools) is None


def called(name: str, result: str) -> list[BaseMessage]:
    call = {"name": name, "args": {}, "id": "c", "type": "tool_call"}
    return [AIMessage("", tool_calls=[call]), ToolMessage(result, tool_call_id="c")]


def test_an_outline_reads_the_readme_that_was_listed() -> None:
    """And answers from both; without one it answers from the list."""
    asked, listed = HumanMessage("Outline this repository"), called("Bash", "a\nREADME.md\nz")
    (call,) = answer([asked, *listed]).tool_calls
    assert call["args"]["file_path"] == "README.md"
    assert "the readme" in answer([asked, *listed, *called("Read", "the readme")]).text
    assert answer([asked, *called("Bash", "a\nz")]).tool_calls == []


def test_a_long_result_is_cut() -> None:
    """Quoted as it is, its fences made harmless."""
    said = answer([HumanMessage("Find every x"), *called("Grep", "```\n" + "\n".join(str(i) for i in range(40)))]).text
    assert "(29 more lines)" in said
    assert said.count("```") == 2
