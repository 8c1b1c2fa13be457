"""A run that its client leaves, joined again through the function URL, by other worker processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import httpx
import pytest

from tests.support.agui_http import Conversation, post
from tests.support.joining import behind, events_url, frames, number_of, said, stream
from tests.support.local_stack import Stack, running_stack
from tests.support.recording import Json
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
LEASE = 4.0


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose model takes a while, so that there is a middle to leave in."""
    folder = tmp_path_factory.mktemp("slow")
    with running_stack(folder, "--ephemeral", AGENTS_OFFLINE_DELAY_MS="60", AGENTS_LEASE_SECONDS=str(LEASE)) as running:
        yield running


@pytest.fixture
def talk(slow: Stack, stream_recorder: StreamRecorder) -> Conversation:
    return Conversation(slow.agent("reactAgent"), stream_recorder)


def counting(talk: Conversation, to: int = 60, **more: object) -> Json:
    return talk.input(messages=[{"id": "u", "role": "user", "content": f"count to {to}"}], **more)


def test_a_second_reader_gets_what_the_first_gets(talk: Conversation) -> None:
    """Joined in the middle by another worker: byte for byte the rest of the stream; so is each replay afterwards."""
    input = counting(talk)
    with stream(talk.url, input) as first:
        number = first.wait_for(10)
        with stream(events_url(talk.url, input, number)) as second:
            assert second.pid != first.pid
            joined = said(second.to_the_end())
        whole = said(first.to_the_end())
    assert joined == behind(whole, number)
    for after in (0, 1, number, number_of(frames(whole)[-2])):
        assert said(replayed(events_url(talk.url, input, after))) == behind(whole, after)
    assert httpx.get(events_url(talk.url, input, number_of(frames(whole)[-1])), trust_env=False).status_code == 204
    talk.recorder.record("joined-whole", input, read_sse(replayed(events_url(talk.url, input))))


def test_a_client_that_drops_misses_nothing(talk: Conversation) -> None:
    """The run goes on without it; what it had and what it joins later is the whole stream."""
    input = counting(talk)
    with stream(talk.url, input) as left:
        number = left.wait_for(8)
        had = b"".join(frame for frame in frames(left.raw) if number_of(frame) <= number)
    with stream(events_url(talk.url, input), last_event_id=str(number)) as again:
        assert again.pid != left.pid
        rest = said(again.to_the_end())
    assert had + rest == said(replayed(events_url(talk.url, input, 0)))
    talk.recorder.record("dropped-and-joined", input, read_sse(had + rest))
    assert read_sse(rest)[-1]["outcome"]["type"] == "success"


def test_a_killed_worker_is_told_and_the_thread_goes_on(talk: Conversation) -> None:
    """SIGKILL in the middle of a run: who joins gets what was kept and then `RUN_LOST`; the next POST goes on."""
    input = counting(talk)
    with stream(talk.url, input) as dying:
        dying.wait_for(40)
        os.kill(int(dying.pid), signal.SIGKILL)
    with stream(events_url(talk.url, input, 0)) as joined:
        raw = said(joined.to_the_end())
    events = read_sse(raw)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "RUN_LOST")
    kept = [frame for frame in frames(raw) if frame.startswith(b"id: ")]
    assert said(dying.raw).startswith(b"".join(kept))
    assert kept
    talk.recorder.record("joined-lost", input, events)
    assert talk.run(talk.input(messages=[], runId="next")).outcome == "success"
    assert [message["role"] for message in talk.stored()["messages"]] == ["user", "assistant"]


def test_a_repeated_run_id_goes_on_counting(talk: Conversation) -> None:
    """As CopilotKit answers a question under the id of the run that asked it: each part is joined by its numbers, the last from 0 too."""
    talk.url = talk.url.replace("reactAgent", "dev")
    question = talk.say("start demo", runId="same")
    (asked,) = question.interrupts
    answer = talk.resume({asked["id"]: {"value": "hitlDemo"}}, runId="same")
    input = {"threadId": talk.thread_id, "runId": "same"}
    assert said(replayed(events_url(talk.url, input, 0))) == said(answer.answer.body)
    first, last = (number_of(frames(question.answer.body)[which]) for which in (0, -1))
    assert said(frames(question.answer.body)[0]) + said(replayed(events_url(talk.url, input, first))) == said(question.answer.body)
    assert number_of(frames(answer.answer.body)[0]) == last + 1
    assert said(replayed(events_url(talk.url, input, last))) == said(answer.answer.body)


def test_nobody_else_joins(talk: Conversation) -> None:
    """An unknown thread, run, or another agent's: 404, and nothing of what there is."""
    input = counting(talk, to=3)
    post(talk.url, input)
    other = events_url(talk.url.replace("reactAgent", "dev"), input)
    for url in (events_url(talk.url, {**input, "threadId": "no"}), events_url(talk.url, {**input, "runId": "no"}), other):
        answer = httpx.get(url, trust_env=False)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def replayed(url: str) -> bytes:
    with stream(url) as found:
        assert found.status == 200
        return found.to_the_end()
