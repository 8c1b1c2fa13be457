"""Bad input ends in a clear HTTP error before the stream or in a legal stream with RUN_ERROR, and the thread stays usable."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Talk
from tests.support.agui_http import Conversation, post
from tests.support.local_stack import Stack
from tests.support.sse import read_sse

Fields = dict[str, Any]


def user(content: Any) -> Fields:
    return {"id": "bad", "role": "user", "content": content}


def raw(edit: Callable[[str], str]) -> Callable[[Fields], bytes]:
    """A body that no JSON library would write: the good one, edited as text."""
    return lambda fields: edit(json.dumps(fields)).encode("utf-8", "surrogatepass")


def changed(**more: Any) -> Callable[[Fields], bytes]:
    return lambda fields: json.dumps({**fields, **more}).encode()


def without(name: str) -> Callable[[Fields], bytes]:
    return lambda fields: json.dumps({key: value for key, value in fields.items() if key != name}).encode()


# name → (how the good input is spoiled, the statuses that are a clear answer)
REFUSED: dict[str, tuple[Callable[[Fields], bytes], set[int]]] = {
    "empty body": (lambda _: b"", {400, 422}),
    "not JSON": (lambda _: b"{not json", {400, 422}),
    "cut JSON": (raw(lambda text: text[:-2]), {400, 422}),
    "two objects": (raw(lambda text: text + text), {400, 422}),
    "not UTF-8": (lambda _: b'{"threadId": "\xff\xfe"}', {400, 422}),
    "a list": (lambda _: b"[]", {400, 422}),
    "null": (lambda _: b"null", {400, 422}),
    "nested 100,000 deep": (lambda _: b"[" * 100_000, {400, 422}),
    "no threadId": (without("threadId"), {422}),
    "no runId": (without("runId"), {422}),
    "no messages": (without("messages"), {422}),
    "threadId a number": (changed(threadId=7), {422}),
    "threadId empty": (changed(threadId=""), {422}),
    "threadId of 1 MB": (changed(threadId="x" * 1_000_000), {413, 422}),
    "runId empty": (changed(runId=""), {422}),
    "runId of 1 MB": (changed(runId="x" * 1_000_000), {413, 422}),
    "messages a string": (changed(messages="hi"), {422}),
    "a message that is null": (changed(messages=[None]), {422}),
    "content a number": (changed(messages=[user(7)]), {422}),
    "resume a string": (changed(resume="yes"), {422}),
    "resume without an id": (changed(resume=[{"status": "resolved"}]), {422}),
    "resume of unknown status": (changed(resume=[{"interruptId": "x", "status": "perhaps"}]), {422}),
    "7 MB": (changed(messages=[user("x" * 7 * 1024 * 1024)]), {413}),
    "NaN": (raw(lambda text: text.replace('"state": {}', '"state": {"n": NaN}')), {400, 422}),
    "Infinity": (raw(lambda text: text.replace('"state": {}', '"state": {"n": Infinity}')), {400, 422}),
}


def still_works(conversation: Conversation) -> None:
    conversation.messages = []
    run = conversation.say("count to 3")
    assert (run.outcome, run.text) == ("success", "1 2 3")


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_the_stream(name: str, talk: Talk) -> None:
    """Each gets a status that fits and `{"error": {"code", "message"}}` without a trace of our code; the thread then works."""
    spoil, statuses = REFUSED[name]
    conversation = talk("reactAgent")
    answer = post(conversation.url, spoil(conversation.input(messages=[user("hi")])))
    assert answer.status in statuses, answer.body[:300]
    error = json.loads(answer.body)["error"]
    assert set(error) >= {"code", "message"}
    assert "Traceback" not in error["message"]
    assert len(answer.body) < 4_000
    still_works(conversation)


# what reaches the run: name → fields of the input
TAKEN: dict[str, Fields] = {
    "a lone surrogate in the text": {"messages": [user("count to 3 \ud800")]},
    "a lone surrogate in the state": {"messages": [user("hi")], "state": {"\udfff": "\ud800"}},
    "a NUL in the text": {"messages": [user("hi \x00 there")]},
    "an unknown role": {"messages": [{"id": "x", "role": "wizard", "content": "hm"}, user("hi")]},
    "an unknown part": {"messages": [user([{"type": "hologram", "data": 1}, {"type": "text", "text": "hi"}])]},
    "unknown fields": {"messages": [{**user("hi"), "colour": "red"}], "mood": "good"},
    "an unknown interrupt": {"messages": [user("hi")], "resume": [{"interruptId": "nope", "status": "resolved", "payload": {}}]},
    "a state that is no object": {"messages": [user("hi")], "state": [1, 2]},
    "a state of null": {"messages": [user("hi")], "state": None},
    "options of the wrong type": {"messages": [user("hi")], "forwardedProps": {"reactAgent": {"maxSteps": "x", "kbId": 7}}},
    "a model that fails in the middle of a word": {"messages": [user("fail now")]},
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken_or_refused_but_never_broken(name: str, talk: Talk) -> None:
    """A legal stream, or a clear HTTP error; the thread then works."""
    conversation = talk("reactAgent")
    input = conversation.input(**TAKEN[name])
    answer = post(conversation.url, json.dumps(input).encode())
    if answer.status == 200:
        conversation.recorder.record(name, input, read_sse(answer.body), raw=answer.body)
    else:
        assert 400 <= answer.status < 500, answer.body[:300]
        assert json.loads(answer.body)["error"]["code"]
    still_works(conversation)


def test_a_model_that_fails_keeps_what_it_said(talk: Talk) -> None:
    """A model that breaks off in the middle of a word ends the run with RUN_ERROR; its text is closed and nothing private leaks."""
    run = talk("reactAgent").say("fail now")
    assert (run.end["type"], run.end["code"]) == ("RUN_ERROR", "AGENT_INTERNAL")
    assert run.text
    assert "OfflineFailure" not in run.end["message"]
    assert "Traceback" not in json.dumps(run.end)


WRONG_PAYLOADS = [{"values": ["a"]}, {"value": 7}, "text", None, [], 0, {"value": {"deep": 1}}, {"cancelled": "yes"}]


@pytest.mark.parametrize("payload", WRONG_PAYLOADS, ids=json.dumps)
def test_an_answer_of_the_wrong_shape(payload: Any, talk: Talk) -> None:
    """`INVALID_RESUME`; the interrupt stays open and takes a right answer afterwards."""
    conversation = talk("dev")
    asked = conversation.say("start demo")
    (interrupt,) = asked.interrupts
    refused = conversation.resume({interrupt["id"]: payload})
    assert (refused.end["type"], refused.end["code"]) == ("RUN_ERROR", "INVALID_RESUME")
    assert conversation.stored()["interrupts"] == [interrupt]
    assert conversation.resume({interrupt["id"]: {"value": "hitlDemo"}}).interrupts[0]["metadata"]["type"] == "input"


def test_an_unknown_interrupt_answers_nothing(talk: Talk) -> None:
    """An id nobody asked about is reported and skipped; what is open stays open."""
    conversation = talk("dev")
    (interrupt,) = conversation.say("start demo").interrupts
    run = conversation.resume({"nope": {"value": "hitlDemo"}})
    assert [event["name"] for event in run.of("CUSTOM")] == ["resume_ignored"]
    assert run.interrupts == [interrupt]
    assert conversation.resume({interrupt["id"]: {"value": "hitlDemo"}}).interrupts[0]["metadata"]["type"] == "input"


def test_an_unknown_agent(stack: Stack) -> None:
    """404, and not as a stream."""
    answer = post(stack.agent("nobody"), {"threadId": "t", "runId": "r", "messages": []})
    assert (answer.status, answer.is_stream) == (404, False)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "", 405), ("PUT", "", 405), ("POST", "nowhere", 404), ("GET", "threads/x/nope", 404)]
)
def test_routes_that_are_not_there(method: str, path: str, status: int, stack: Stack) -> None:
    """An unknown path or method is refused in the same shape as any other error."""
    response = httpx.request(method, stack.agent("dev") + path, timeout=30, trust_env=False)
    assert response.status_code == status
    assert response.json()["error"]["code"]
