"""Runs that outlast their invocation: another one goes on with them, and whoever looks sees one stream."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.agui_http import Conversation
from tests.support.joining import Open, events_url, frames, number_of, said, stream
from tests.support.local_stack import Stack, running_stack
from tests.support.recording import Json
from tests.support.sse import read_sse
from tests.support.steps import STEPS
from tests.support.streams import StreamRecorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
TIMEOUT, DRAIN = 6, 3
"""Seconds of an invocation, and what is left of it when its run is handed over: some seven steps in each."""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("steps") / "ran"


@pytest.fixture(scope="module")
def hopping(tmp_path_factory: pytest.TempPathFactory, steps: Path) -> Iterator[Stack]:
    more = {"_HANDLER": "tests.support.steps_app.app", "AGENTS_STEPS_FILE": str(steps), "AGENTS_DRAIN_SECONDS": str(DRAIN)}
    folder = tmp_path_factory.mktemp("stack")
    with running_stack(folder, "--ephemeral", "--timeout", str(TIMEOUT), "--verbose", AGENTS_LEASE_SECONDS="4", **more) as stack:
        yield stack


@pytest.fixture
def talk(hopping: Stack, steps: Path, stream_recorder: StreamRecorder) -> Conversation:
    steps.unlink(missing_ok=True)
    return Conversation(hopping.agent("dev"), stream_recorder)


def asking(talk: Conversation, text: str) -> Json:
    return talk.input(messages=[{"id": "u", "role": "user", "content": text}])


def followed(talk: Conversation, input: Json, first: Open) -> bytes:
    """As a client does that joins again whenever its stream ends with the invocation: what it got, without those ends."""
    got = first.to_the_end()
    for _ in range(12):
        kept = b"".join(frame for frame in frames(got) if frame.startswith(b"id: "))
        if read_sse(got)[-1].get("code") != "JOIN_ENDED":
            return kept
        with stream(events_url(talk.url, input, number_of(frames(kept)[-1]))) as again:
            got = kept + said(again.to_the_end())
    raise AssertionError(f"the run does not end: {got!r}")


def ran(steps: Path, word: str) -> list[int]:
    return [int(line.split()[1]) for line in steps.read_text().splitlines() if line.startswith(word)]


def test_three_hops_are_one_stream(talk: Conversation, steps: Path, hopping: Stack) -> None:
    """A run of thirteen seconds in invocations of six: each step ran once, in several processes; its events have numbers without a gap,
    begin and end once, and are the same for who stayed, for who left and joined, and for who reads them afterwards."""
    input = asking(talk, "go on")
    with stream(talk.url, input) as stays, stream(talk.url, input) as refused:
        assert stays.wait_for(3)
        assert refused.to_the_end()
        assert refused.status == 409
        left_at = stays.wait_for(8)
        with stream(events_url(talk.url, input, left_at)) as joins:
            rest = followed(talk, input, joins)
        whole = followed(talk, input, stays)
    with stream(events_url(talk.url, input, 0)) as replay:
        again = said(replay.to_the_end())
    assert again == whole
    assert whole.endswith(rest)
    events = read_sse(whole)
    assert [number_of(frame) for frame in frames(whole)] == list(range(1, len(events) + 1))
    types = [event["type"] for event in events]
    assert (types.count("RUN_STARTED"), types.count("RUN_FINISHED"), types.count("RUN_ERROR")) == (1, 1, 0)
    assert events[-1]["outcome"]["type"] == "success"
    assert ran(steps, "begun") == ran(steps, "done") == list(range(1, STEPS + 1))
    run_id = input["runId"]
    hops = [line for line in hopping.printed().splitlines() if '"outcome":"continued"' in line and run_id in line]
    assert len(hops) >= 3
    assert len(processes_of(steps)) >= 2
    assert [message["content"] for message in talk.stored()["messages"]][1:] == [f"step {number}" for number in range(1, STEPS + 1)]


def test_a_step_longer_than_the_margin_is_cut_off(talk: Conversation, steps: Path) -> None:
    """It is cancelled and said; what it did not finish is not stored, and an empty run does it again."""
    with stream(talk.url, asking(talk, "slow 3")) as found:
        end = read_sse(found.to_the_end())[-1]
    assert (end["type"], end["code"]) == ("RUN_ERROR", "RUN_DEADLINE")
    assert (ran(steps, "begun"), ran(steps, "done")) == ([1, 2, 3], [1, 2])
    assert [message["content"] for message in talk.stored()["messages"]][1:] == ["step 1", "step 2"]


def test_a_stop_after_a_hop(talk: Conversation, steps: Path) -> None:
    """Ends the run where it is, and its thread goes on with the next message."""
    input = asking(talk, "go on")
    with stream(talk.url, input) as found:
        while len(processes_of(steps)) < 2:
            time.sleep(0.1)
        assert httpx.post(f"{talk.url}threads/{input['threadId']}/stop", trust_env=False).status_code in (200, 202)
        events = read_sse(followed(talk, input, found))
    assert events[-1].get("code") == "STOPPED" or events[-1]["outcome"]["type"] == "cancelled"
    assert len(ran(steps, "done")) < STEPS


def test_a_kill_after_a_hop(talk: Conversation, steps: Path) -> None:
    """Whoever follows is told that the run is lost; an empty run goes on where it was, and no step that was done runs again."""
    input = asking(talk, "go on")
    with stream(talk.url, input) as found:
        while len(processes_of(steps)) < 2:
            time.sleep(0.1)
        os.kill(int(processes_of(steps)[-1]), signal.SIGKILL)
        events = read_sse(followed(talk, input, found))
    assert {event["type"] for event in events} & {"RUN_FINISHED", "RUN_ERROR"} == set()
    with stream(events_url(talk.url, input, 0)) as again:
        assert read_sse(again.to_the_end())[-1]["code"] == "RUN_LOST"
    rest = {**input, "messages": [], "runId": "rest"}
    with stream(talk.url, rest) as found:
        assert read_sse(followed(talk, rest, found))[-1]["outcome"]["type"] == "success"
    assert ran(steps, "done") == list(range(1, STEPS + 1))


def test_in_the_background(talk: Conversation, steps: Path) -> None:
    """Nobody waits: 202 at once, and the run goes on over several invocations, to be read where it was said."""
    input = asking(talk, "go on")
    since = time.monotonic()
    answer = httpx.post(talk.url, json=input, headers={"prefer": "respond-async"}, trust_env=False)
    assert (answer.status_code, time.monotonic() - since < 5) == (202, True)
    with stream(f"{talk.url}{answer.headers['location']}") as found:
        events = read_sse(followed(talk, input, found))
    assert (events[0]["type"], events[-1]["outcome"]["type"]) == ("RUN_STARTED", "success")
    assert ran(steps, "done") == list(range(1, STEPS + 1))


def processes_of(steps: Path) -> list[str]:
    found = [line.split()[2] for line in steps.read_text().splitlines()] if steps.exists() else []
    return list(dict.fromkeys(found))
