"""The main job: an agent on a streaming function URL, interrupted in one process and resumed in another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Talk
from tests.support.agui_http import post
from tests.support.local_stack import Stack
from tests.support.node_clients import RunNode
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder

SIX_POSTS = Path(__file__).parent / "clients" / "six_posts.mjs"
ASKED = ["select", "input", "select", "multiSelect", "approval", None]


@pytest.mark.node
@pytest.mark.timeout(300)  # twelve cold starts of worker processes, which a busy machine makes slow
@pytest.mark.parametrize("version", ["1.0.0", pytest.param("0.0.59", marks=pytest.mark.long)])
def test_six_posts_by_six_processes(version: str, stack: Stack, node: RunNode, stream_recorder: StreamRecorder) -> None:
    """`dev` reaches success in one start and five resumes, each served by a process that did not live before; no client complains."""
    done = node(SIX_POSTS, version, stack.agent("dev"), timeout=280)
    *served, last = (json.loads(line) for line in done.stdout.splitlines())
    assert (last.get("error"), done.returncode, done.stderr) == (None, 0, "")
    assert [one["asked"] for one in served] == ASKED
    assert len({one["pid"] for one in served}) == 6
    assert last["text"].startswith("已批准执行")
    for one in served:
        raw = one["body"].encode()
        stream_recorder.record(f"six-posts-{version}-{one['post']}", one["input"], read_sse(raw), raw=raw)


def test_ask_then_search(talk: Talk) -> None:
    """`reactAgent` streams a call's arguments, is interrupted by it, is resumed without announcing it again, and cites its source."""
    conversation = talk("reactAgent")
    asked = conversation.say("Ask me for a topic, then search")
    (call,) = asked.of("TOOL_CALL_START")
    assert (call["toolCallName"], asked.outcome) == ("ask_choice", "interrupt")
    assert len(asked.of("TOOL_CALL_ARGS")) > 2
    assert json.loads(asked.arguments(call["toolCallId"]))["message"] == asked.interrupts[0]["message"]

    answered = conversation.resume({asked.interrupts[0]["id"]: {"value": "leave"}})
    assert [start["toolCallName"] for start in answered.of("TOOL_CALL_START")] == ["kb_search"]
    assert next(result["toolCallId"] for result in answered.of("TOOL_CALL_RESULT")) == call["toolCallId"]
    assert (answered.outcome, "](/kb?doc=" in answered.text) == ("success", True)


@pytest.mark.parametrize("repeat", [*range(4), *(pytest.param(more, marks=pytest.mark.long) for more in range(4, 20))])
def test_parallel_questions_keep_their_answers(repeat: int, talk: Talk) -> None:
    """Two asks of one turn both surface, and each call gets its own answer: both at once in either order, or one after the other."""
    conversation = talk("reactAgent")
    asked = conversation.say("Ask two questions")
    assert len(asked.interrupts) == 2
    wanted = {"What is your name?": f"Ada {repeat}", "Which city do you live in?": f"Paris {repeat}"}
    questions = {start["toolCallId"]: json.loads(asked.arguments(start["toolCallId"]))["message"] for start in asked.of("TOOL_CALL_START")}
    answers = {interrupt["id"]: {"value": wanted[interrupt["message"]]} for interrupt in asked.interrupts}
    ordered = dict(reversed(answers.items())) if repeat % 2 else answers

    runs = [conversation.resume(ordered)] if repeat % 4 < 2 else [conversation.resume({id: answer}) for id, answer in ordered.items()]
    assert [run.outcome for run in runs] == [*["interrupt"] * (len(runs) - 1), "success"]
    results = {result["toolCallId"]: result["content"] for run in runs for result in run.of("TOOL_CALL_RESULT")}
    assert results == {call: f"用户回答：{wanted[question]}" for call, question in questions.items()}
    assert not [start for run in runs for start in run.of("TOOL_CALL_START")]


def test_the_thread_can_be_read(talk: Talk) -> None:
    """`GET …/threads/{id}/messages` shows the messages of the last snapshot, and the open interrupts as the run reported them."""
    conversation = talk("reactAgent")
    asked = conversation.say("Ask me to confirm")
    assert conversation.stored() == {"messages": asked.recording.snapshot, "interrupts": asked.interrupts}
    done = conversation.resume({asked.interrupts[0]["id"]: {"action": "Go on"}})
    assert conversation.stored() == {"messages": done.recording.snapshot, "interrupts": []}


def test_connect_shows_the_thread_as_its_run_ended(talk: Talk) -> None:
    """`POST /connect` answers with the snapshots and the open interrupts of the last run, in the same shape, and runs nothing."""
    conversation = talk("dev")
    asked = conversation.say("start demo")
    answer = post(f"{conversation.url}connect", {"threadId": conversation.thread_id})
    events = read_sse(answer.body)
    assert events[0]["runId"].startswith("connect-")
    conversation.recorder.record("connect", {**conversation.input(), "messages": [], "runId": events[0]["runId"]}, events, raw=answer.body)
    assert [event["type"] for event in events] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert events[1]["messages"] == asked.recording.snapshot
    assert events[3]["outcome"] == asked.end["outcome"]
