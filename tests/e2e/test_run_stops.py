"""Stop through the function URL, from another worker than the one that runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.agui_http import Conversation, post
from tests.support.joining import Open, events_url, stream
from tests.support.local_stack import Stack, running_stack
from tests.support.recording import Json
from tests.support.streams import StreamRecorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
BOUND = 5.0
"""Seconds: the issue asks for 2 on a quiet machine."""
EMPTY: Json = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stops")
    with running_stack(folder, "--ephemeral", AGENTS_OFFLINE_DELAY_MS="100", AGENTS_LEASE_SECONDS="30") as running:
        warm(running.agent("reactAgent"), 3)
        yield running


def warm(url: str, workers: int) -> None:
    """So many workers of an agent have started: what is measured is no start."""
    said = {"messages": [{"id": "u", "role": "user", "content": "count to 30"}], **EMPTY}
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda number: post(url, {**said, "threadId": f"warm{number}", "runId": "r"}), range(workers)))


@pytest.fixture
def talk(slow: Stack, stream_recorder: StreamRecorder) -> Conversation:
    return Conversation(slow.agent("reactAgent"), stream_recorder)


def counting(talk: Conversation, **more: object) -> Json:
    return talk.input(messages=[{"id": "u", "role": "user", "content": "count to 300"}], **more)


def asked(talk: Conversation, **body: str) -> httpx.Response:
    return httpx.post(f"{talk.url}threads/{talk.thread_id}/stop", json=body or None, timeout=30, trust_env=False)


@pytest.mark.parametrize("version", ["1.0", None])
def test_from_another_worker(talk: Conversation, version: str | None) -> None:
    """The stream ends within the bound, in the client's own words; the answer says that it has; nothing more runs, and an empty run goes
    on."""
    input = counting(talk, protocolVersion=version)
    with stream(talk.url, input) as running, stream(events_url(talk.url, input)) as joined:
        running.wait_for(12)
        since = time.monotonic()
        answer = asked(talk)
        end = read(running)
        assert answer.headers["x-worker-pid"] != running.pid
        assert (answer.status_code, answer.json()["status"], answer.json()["runId"]) == (200, "stopped", input["runId"])
        assert (end.get("outcome") or {"type": end.get("code")})["type"] == ("cancelled" if version else "STOPPED")
        assert running.ended_at - since < BOUND
        assert read(joined) == end
        print(f"stopped after {running.ended_at - since:.2f} s, answered after {answer.elapsed.total_seconds():.2f} s")
    talk.recorder.record("stopped", input, running.events, raw=running.raw)
    again = asked(talk)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "NOT_RUNNING")
    with stream(talk.url, talk.input(messages=[])) as going_on:
        going_on.wait_for(12)
        assert asked(talk).status_code == 200


def test_a_run_that_is_named(talk: Conversation) -> None:
    """Another one goes on, and is named."""
    input = counting(talk)
    with stream(talk.url, input) as running:
        running.wait_for(12)
        other = asked(talk, runId="other")
        assert (other.status_code, other.json()["error"]["code"], other.json()["error"]["runId"]) == (
            409,
            "RUN_IN_PROGRESS",
            input["runId"],
        )
        assert running.ended_at == 0
        assert asked(talk, runId=input["runId"]).json()["status"] == "stopped"


def test_a_killed_worker(talk: Conversation) -> None:
    """Nobody is there to stop: the thread is free in seconds instead of its lease's thirty."""
    input = counting(talk)
    with stream(talk.url, input) as dying:
        dying.wait_for(12)
        os.kill(int(dying.pid), signal.SIGKILL)
    answer = asked(talk)
    assert (answer.status_code, answer.json()["status"]) == (202, "stopping")
    since = time.monotonic()
    with stream(talk.url, talk.input(messages=[]), prefer="wait=30") as next_run:
        next_run.wait_for(1)
        assert time.monotonic() - since < 20
        assert asked(talk).status_code == 200


def test_nothing_to_stop(talk: Conversation) -> None:
    """A question that waits is no run; a thread that is not there is none."""
    assert asked(talk).status_code == 404
    talk.url = talk.url.replace("reactAgent", "dev")
    question = talk.say("start demo")
    assert question.outcome == "interrupt"
    assert asked(talk).json()["error"]["code"] == "NOT_RUNNING"
    assert talk.resume({question.interrupts[0]["id"]: {"value": "hitlDemo"}}).outcome == "interrupt"


def read(open: Open) -> Json:
    open.to_the_end()
    return open.events[-1]
