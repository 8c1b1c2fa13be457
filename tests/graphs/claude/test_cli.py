"""The SDK and its CLI for real, its model a script on loopback: what a user would meet beside the golden stories."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import aclosing
from pathlib import Path

from ag_ui.core import EventType
from langchain_core.messages import AIMessageChunk, HumanMessage

from functions.runs import stream_graph_agui_events
from tests.support.agent_thread import AgentThread, calling, resolved
from tests.support.claude import Status, claude, got
from tests.support.streams import StreamRecorder


def written(folder: Path, name: str) -> str:
    """The file's text, once it has one."""
    for _ in range(1_000):
        if text := got(folder, name):
            return text
        time.sleep(0.02)
    raise TimeoutError(name)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_refused_call_does_not_run(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """Its result says why, to the model too, and the session goes on."""
    with claude(calling(("Bash", {"command": "touch made"}), ids=["toolu_1"]), "As you wish.") as agent:
        talk = AgentThread(stream_recorder, agent.graph(tmp_path, allowed=()), state_keys=())
        (question,) = (await talk.say("Make it.")).interrupts
        assert question["toolCallId"] == "toolu_1"
        assert question["metadata"]["details"] == {"tool": "Bash", "input": {"command": "touch made"}}
        run = await talk.answer(resolved(question["id"], {"approved": False, "reason": "not now"}))
        assert (run.results, run.text) == ({"toolu_1": "已拒绝：not now"}, "As you wish.")
        assert agent.model.calls[-1][-1].text == "已拒绝：not now"
    assert got(tmp_path, "made") is None


async def test_a_tool_error_is_a_result(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """A file that is not there, and a tool that Claude does not have."""
    turn = calling(("Read", {"file_path": "none.txt"}), ("Write", {"file_path": "a", "content": "b"}), ids=["toolu_1", "toolu_2"])
    with claude(turn, "Neither works.") as agent:
        run = await AgentThread(stream_recorder, agent.graph(tmp_path), state_keys=()).say("Try.")
    assert [e["metadata"] for e in run.of("TOOL_CALL_RESULT")] == [{"error": True}, {"error": True}]
    assert run.text == "Neither works."
    assert got(tmp_path, "a") is None


async def test_an_aborted_run_leaves_no_process_and_the_session_as_it_was(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """The client leaves while a command runs: CLI and command end, and the next message is answered from the state before."""
    command = "echo $PPID $$ > pids; tail -f /dev/null"
    with claude("One.", calling(("Bash", {"command": command}), ids=["toolu_1"]), "Three.") as agent:
        talk = AgentThread(stream_recorder, agent.graph(tmp_path), state_keys=())
        await talk.say("first")
        second = talk.input(messages=[*talk.messages, {"id": "second", "role": "user", "content": "second"}])
        async with aclosing(stream_graph_agui_events(second, talk.compiled(), agent="test", state_keys=())) as events:
            async for event in events:
                if event.type is EventType.TOOL_CALL_END:
                    pids = (await asyncio.to_thread(written, tmp_path, "pids")).split()
                    assert [runs(int(pid)) for pid in pids] == [True, True]
                    break
        assert [runs(int(pid)) for pid in pids] == [False, False]
        assert (await talk.say("third")).text == "Three."
        asked = str(agent.model.calls[-1])
    assert "One." in asked
    assert "/dev/null" not in asked


async def test_a_run_that_is_cancelled_again_and_again_leaves_no_process(tmp_path: Path) -> None:
    """Who cancels once more, as a loop that ends does, waits like the first: what ends the CLI is not cut short."""
    with claude(calling(("Bash", {"command": "echo $PPID $$ > pids; tail -f /dev/null"}), ids=["toolu_1"])) as agent:
        run = asyncio.create_task(agent.graph(tmp_path).compile().ainvoke({"messages": [HumanMessage("go")]}))
        pids = (await asyncio.to_thread(written, tmp_path, "pids")).split()
        while not run.done():
            run.cancel()
            await asyncio.wait({run}, timeout=0.01)
        assert run.cancelled()
        assert [runs(int(pid)) for pid in pids] == [False, False]


REFUSAL = [
    AIMessageChunk(content=[{"type": "text", "text": "I can", "index": 0}]),
    AIMessageChunk(content="", response_metadata={"stop_reason": "refusal"}),
]


async def test_a_refusal_of_the_model_is_no_answer(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """A code of its own; what it began to say is not kept."""
    with claude(*[REFUSAL] * 6) as agent:
        talk = AgentThread(stream_recorder, agent.graph(tmp_path), state_keys=())
        assert (await talk.say("no")).outcome == "LLM_REFUSED"
        assert [message.type for message in await talk.stored()] == ["human"]


async def test_a_stream_that_is_cut_is_asked_for_again(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """The half that was shown leaves the screen with the snapshot; what the whole run used is told."""
    half = [AIMessageChunk(content=[{"type": "text", "text": "half a", "index": 0}]), ConnectionError("cut")]
    with claude(half, "All of it.") as agent:
        agent.variables["CLAUDE_CODE_MAX_RETRIES"] = "1"
        run = await AgentThread(stream_recorder, agent.graph(tmp_path), state_keys=()).say("hi", transient=["half a"])
    assert [message["content"] for message in run.snapshot] == ["hi", "All of it."]
    (usage,) = run.end["usage"]
    assert (usage["provider"], usage["outputTokens"] > 0) == ("anthropic", True)


async def test_a_wrong_key(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """An error with the right code, not a reply that reads like one."""
    with claude(Status(401)) as agent:
        run = await AgentThread(stream_recorder, agent.graph(tmp_path), state_keys=()).say("hi")
    assert (run.outcome, run.text) == ("LLM_AUTH_FAILED", "")
