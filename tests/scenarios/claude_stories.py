"""The scenarios of claudeAgent: the SDK's own CLI, its model a script."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall

from tests.scenarios.telling import KeptThread
from tests.support.agent_thread import calling, resolved
from tests.support.claude import Status, claude, got, put

New = Callable[..., KeptThread]


async def claude_reads(new: New) -> None:
    """It thinks, reads a file and answers, then answers again in another folder: the session went along."""
    read = ToolCall(name="Read", args={"file_path": "hello.txt"}, id="toolu_1", type="tool_call")
    content: list[str | dict[str, str]] = [{"type": "reasoning", "reasoning": "I look."}, {"type": "text", "text": "I read it."}]
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as other,
        claude(AIMessage(content=content, tool_calls=[read]), "It says hello.", "As I said: hello.") as agent,
    ):
        put(folder, "hello.txt", "hello\n")
        talk = new(agent.graph(Path(folder)), state_keys=())
        await talk.say("What does it say?")
        talk.graph(agent.graph(Path(other)))
        await talk.say("Again?")
        assert [message.type for message in agent.model.calls[-1]] == ["human", "ai", "tool", "ai", "human"]


async def claude_asks_for_permission(new: New) -> None:
    """Two calls in one turn: one is allowed, the other asks. Another process has the answer, and the call runs once."""
    turn = calling(("Bash", {"command": "echo once >> log"}), ("Read", {"file_path": "log"}), ids=["toolu_1", "toolu_2"], text="I write.")
    with tempfile.TemporaryDirectory() as folder, claude(turn, "Written.") as agent:
        put(folder, "log", "log\n")
        talk = new(agent.graph(Path(folder), allowed=("Read",)), state_keys=())
        (question,) = (await talk.say("Write to the log.")).interrupts
        assert got(folder, "log") == "log\n"
        talk.graph(agent.graph(Path(folder), allowed=("Read",)))
        await talk.answer(resolved(question["id"], {"approved": True}))
        assert got(folder, "log") == "log\nonce\n"


async def claude_fails(new: New) -> None:
    """The API is overloaded; the same message once more is answered."""
    with tempfile.TemporaryDirectory() as folder, claude(Status(529), "Here I am.") as agent:
        talk = new(agent.graph(Path(folder)), state_keys=())
        await talk.say("Are you there?")
        await talk.run()


CLAUDE_STORIES = (claude_reads, claude_asks_for_permission, claude_fails)
