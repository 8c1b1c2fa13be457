"""Requests that meet on one thread, through the function URL and in several worker processes. `RACES=50` runs each race fifty times."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.conftest import Talk
from tests.support.agui_http import Answer, Conversation, post
from tests.support.joining import said as said_frames
from tests.support.recording import Json
from tests.support.sse import read_sse

REPEATS = int(os.environ.get("RACES", "1"))
BUSY = (409, "RUN_IN_PROGRESS")
pytestmark = [pytest.mark.long, pytest.mark.parametrize("repeat", range(REPEATS)), pytest.mark.timeout(300)]


def at_once(conversation: Conversation, inputs: Sequence[Json], **headers: str) -> list[Answer]:
    """All of them, each on a connection of its own."""
    with ThreadPoolExecutor(len(inputs)) as threads:
        return list(threads.map(lambda input: post(conversation.url, input, **headers), inputs))


def outcome(answer: Answer) -> tuple[int, str]:
    """Status, and the error's code or the outcome's type."""
    if answer.status != 200:
        return answer.status, str(json.loads(answer.body)["error"]["code"])
    end = read_sse(answer.body)[-1]
    return 200, str(end["outcome"]["type"] if end["type"] == "RUN_FINISHED" else end["code"])


def pids(answers: Sequence[Answer]) -> set[str]:
    return {answer.headers["x-worker-pid"] for answer in answers}


Approval = tuple[Conversation, str]


@pytest.fixture
def approval(talk: Talk) -> Approval:
    """`dev` at its last question: whether to carry out what the ones before have collected."""
    conversation = talk("dev")
    run = conversation.say("start demo")
    given: list[Any] = [{"value": "hitlDemo"}, {"value": "Ada"}, None, {"values": []}]
    for answer in given:
        (question,) = run.interrupts
        chosen = answer or {"value": question["metadata"]["payload"]["options"][0]["value"]}
        run = conversation.resume({question["id"]: chosen})
    (question,) = run.interrupts
    assert question["metadata"]["type"] == "approval"
    return conversation, question["id"]


def answering(approval: Approval, approved: bool) -> Json:
    conversation, question = approval
    return conversation.input(resume=[{"interruptId": question, "status": "resolved", "payload": {"approved": approved}}])


def said(conversation: Conversation) -> list[str]:
    """What the agent has said, by the first characters that tell its two ends apart."""
    return [str(message["content"])[:3] for message in conversation.stored()["messages"] if message["role"] == "assistant"]


def test_eight_clicks(repeat: int, approval: Approval) -> None:
    """Eight times the same answer, in several processes: it is carried out once; the others hear that it is going, or how it ended."""
    answers = at_once(approval[0], [answering(approval, True) for _ in range(8)])
    outcomes = [outcome(answer) for answer in answers]
    assert set(outcomes) <= {(200, "success"), BUSY}
    assert (200, "success") in outcomes
    assert said(approval[0]) == ["已批准"]
    busy = [json.loads(answer.body)["error"] for answer in answers if answer.status == 409]
    assert all(error["runId"] for error in busy)
    assert len(pids(answers)) > 1


def test_approve_and_reject(repeat: int, approval: Approval) -> None:
    """One wins; the other gets a 409."""
    answers = at_once(approval[0], [answering(approval, True), answering(approval, False)])
    assert sorted(answer.status for answer in answers) == [200, 409]
    assert {outcome(answer) for answer in answers} <= {(200, "success"), BUSY, (409, "ALREADY_ANSWERED")}
    approved = answers[0].status == 200
    assert said(approval[0]) == ["已批准" if approved else "已拒绝"]
    assert len(pids(answers)) == 2


def test_two_messages(repeat: int, talk: Talk) -> None:
    """One runs, the other gets a 409 with the run's id, or ran when the first had ended; with `Prefer: wait` both run. None is lost."""
    for prefer in ({}, {"prefer": "handling=lenient, wait=30"}):
        conversation = talk("reactAgent")
        inputs = [conversation.input(messages=[{"id": text, "role": "user", "content": f"count to {text}"}]) for text in ("5", "6")]
        answers = at_once(conversation, inputs, **prefer)
        assert {outcome(answer) for answer in answers} <= ({(200, "success")} if prefer else {(200, "success"), BUSY})
        ran = [input["messages"][0]["id"] for input, answer in zip(inputs, answers, strict=True) if answer.status == 200]
        assert sorted(message["id"] for message in conversation.stored()["messages"] if message["role"] == "user") == sorted(ran)


def test_a_retry_of_the_same_request(repeat: int, approval: Approval) -> None:
    """At once and afterwards, with an `Idempotency-Key`: one run, and all get its stream."""
    first = at_once(approval[0], [answering(approval, True) for _ in range(4)], idempotency_key="the click")
    late = post(approval[0].url, answering(approval, True), idempotency_key="the click")
    assert {outcome(answer) for answer in [*first, late]} == {(200, "success")}
    assert len({said_frames(answer.body) for answer in [*first, late]}) == 1
    assert said(approval[0]) == ["已批准"]
