"""A run's events are numbered and kept beside its stream, which they never hold up; and followed from what is kept."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
)
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from functions.runs import AgentRun, following, orchestrator, recording
from functions.runs import event_log as logs
from functions.runs.errors import RunRejected
from functions.runs.event_log import EventLog, event_log
from functions.runs.following import Following
from functions.runs.recording import Recorder
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import TableMissing
from functions.store.events import MOST_FRAMES, Batch, Kept, Last
from functions.store.holders import Holder
from functions.web.sse import encode
from tests.support.agent_thread import single
from tests.support.dynamodb import Dynamo
from tests.support.dynamodb_faults import Fault, Faults
from tests.support.sse import read_sse

START = RunStartedEvent(protocol_version="1.0", thread_id="t", run_id="r")
OPEN = TextMessageStartEvent(message_id="m")
WORD = TextMessageContentEvent(message_id="m", delta="word ")
END = RunFinishedEvent(thread_id="t", run_id="r")
NOTHING_KEPT = Last()
LIVE, OVER, NEXT = Holder("r", 1, 9.0), Holder("r", 1, 0.0), Holder("r", 2, 9.0)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in a tenth of the time."""
    for module, name in (
        (recording, "BATCH_SECONDS"),
        (recording, "AGAIN_SECONDS"),
        (following, "POLL_SECONDS"),
        (following, "LOOK_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 0.05)


@pytest.fixture
def log(saver: BaseCheckpointSaver[Any]) -> EventLog:
    found = event_log(saver, "t", "r", 60)
    assert found is not None
    return found


def recorder_of(log: EventLog | None, *, last: Last | None = NOTHING_KEPT, fence: int = 1) -> Recorder:
    recorder = Recorder(log, encode)
    recorder.begin(None if log is None else last, fence, "c0")
    return recorder


async def record(recorder: Recorder, events: Sequence[BaseEvent]) -> bytes:
    """As the web does: the terminal event is told before it is sent."""
    sent = b""
    for event in events:
        if isinstance(event, (RunFinishedEvent, RunErrorEvent)):
            await recorder.end(event)
        sent += recorder.frame(event)
    return sent


def follow(log: EventLog, *holders: Holder | None, after: int | None = 0, fence: int | None = None, **more: Any) -> Following:
    """One that sees these holders, the last one for ever."""
    seen = list(holders) or [LIVE]

    async def look() -> Holder | None:
        return seen.pop(0) if len(seen) > 1 else seen[0]

    return Following(log, look, "t", "r", encode, after, fence, **more)


async def all_of(found: Following) -> bytes:
    return b"".join([frames async for frames in found.frames()])


def codes(raw: bytes) -> list[str]:
    return [event.get("code", event["type"]) for event in read_sse(raw)]


# keeping


async def test_what_is_sent_is_kept_before_it_ends(log: EventLog) -> None:
    """Numbered from 1; when the last event is out, all of them can be read."""
    sent = await record(recorder_of(log), [START, OPEN, *[WORD] * 5, END])
    assert [frame.split(b"\n")[0] for frame in sent.split(b"\n\n")[:-1]] == [b"id: %d" % number for number in range(1, 9)]
    (batch,) = (await log.read()).batches
    assert (batch.frames, batch.ends, batch.base, batch.fence) == (sent, True, "c0", 1)


async def test_batches_go_out_by_time_and_by_size(log: EventLog) -> None:
    """A second after the first frame of each, or when 64 KB have come."""
    recorder = recorder_of(log)
    recorder.frame(START)
    await asyncio.sleep(0.3)
    assert [batch.count for batch in (await log.read()).batches] == [1]
    for _ in range(2_000):
        recorder.frame(WORD)
    await recorder.end(END)
    batches = (await log.read()).batches
    assert [batch.last + 1 for batch in batches[:-1]] == [batch.first for batch in batches[1:]]
    assert max(len(batch.frames) for batch in batches) < recording.BATCH_BYTES + 200
    assert [batch.ends for batch in batches] == [False] * (len(batches) - 1) + [True]
    assert [batch.base for batch in batches] == ["c0"] + [""] * (len(batches) - 1)


@pytest.mark.parametrize(
    "events",
    [[START, RunErrorEvent(message="x" * recording.BATCH_BYTES)], [START, *[WORD] * (MOST_FRAMES - 2), END]],
    ids=["large", "the last that a batch holds"],
)
async def test_the_batch_of_the_last_event_says_that_it_ends(log: EventLog, events: list[BaseEvent]) -> None:
    """Also where that event would have sent it out for its size: a run that has ended is not taken for a lost one."""
    sent = await record(recorder_of(log), events)
    joined = [frame async for frame in follow(log, OVER).frames()]
    assert b"".join(joined) == sent


async def test_a_repeated_run_goes_on_counting(log: EventLog) -> None:
    """Another run with the same id begins behind it; a died one's numbers are never used again."""
    await record(recorder_of(log), [START, END])
    again = Recorder(log, encode)
    again.begin(await again.last(), 2, "c1")
    assert (await record(again, [START, END])).startswith(b"id: 3\n")
    third = recorder_of(log, last=await again.last(), fence=3)
    assert third.frame(START).startswith(b"id: 5\n")
    await asyncio.sleep(0.3)  # kept, and cut off without an end
    fourth = recorder_of(log, last=await again.last(), fence=4)
    assert fourth.frame(START).startswith(b"id: %d\n" % (5 + recording.UNKEPT + 1))
    once_more = Recorder(log, encode)
    once_more.begin(await once_more.last(), 3, "c2", again=True)
    assert (await record(once_more, [START, END])).startswith(b"id: %d\n" % (5 + recording.UNKEPT + 1))


async def test_without_a_log_frames_are_only_numbered() -> None:
    """A graph without threads, or kept hours of 0."""
    assert event_log(InMemorySaver(), "t", "r", 0) is event_log(None, "t", "r", 60) is None
    assert (await record(recorder_of(None), [START, END])).startswith(b"id: 1\n")


@pytest.mark.parametrize("fault", Fault)
async def test_a_write_that_fails_is_repeated(dynamo: Dynamo, fault: Fault) -> None:
    """Whatever becomes of it: nothing is missing, doubled, or in another order."""
    client = dynamo.fresh_client()
    log = event_log(DynamoDBSaver(dynamo.checkpoints, client=client), "t", "r", 60)
    assert log is not None
    recorder = recorder_of(log)
    with Faults(client).inject(fault, operation="PutItem", times=2) as faults:
        sent = await record(recorder, [START, *[WORD] * 3_000, END])
    assert faults.injected
    assert b"".join(batch.frames for batch in (await log.read()).batches) == sent


async def test_an_outage_neither_stops_nor_holds_the_stream(
    dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Frames come at once; the last one waits a bounded time; the log says what was not kept, and who joins is told."""
    monkeypatch.setattr(recording, "END_SECONDS", 0.5)
    client = dynamo.fresh_client()
    log = event_log(DynamoDBSaver(dynamo.checkpoints, client=client), "t", "r", 60)
    assert log is not None
    recorder = recorder_of(log)
    recorder.frame(START)
    await asyncio.sleep(0.3)
    with Faults(client).inject(Fault.SERVER_ERROR, operation="PutItem", times=float("inf")):
        since = time.monotonic()
        for _ in range(500):
            recorder.frame(WORD)
        assert time.monotonic() - since < 1
        await recorder.end(END)
        assert time.monotonic() - since < 10
        assert codes(await all_of(follow(log, OVER))) == ["RUN_STARTED", "RUN_LOST"]
    assert recorder.frame(END).startswith(b"id: 502\n")
    assert "are not kept" in caplog.text


async def test_a_log_that_cannot_be_read_is_not_kept(dynamo: Dynamo, caplog: pytest.LogCaptureFixture) -> None:
    """A missing table costs a line in the log, not the run."""
    log = event_log(DynamoDBSaver("nowhere-checkpoints", client=dynamo.client), "t", "r", 60)
    recorder = Recorder(log, encode)
    with caplog.at_level(logging.WARNING):
        last = await recorder.last()
    recorder.begin(last, 1, "")
    assert (last, await record(recorder, [START, END]) != b"") == (None, True)
    assert "'nowhere-events' does not exist" in caplog.text


async def test_memory_is_bounded_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another checkpointer the runs that were written to first go first."""
    monkeypatch.setattr(logs, "MOST_LOCAL_BYTES", 1_000)
    saver = InMemorySaver()
    for number in range(20):
        log = event_log(saver, "t", f"r{number}", 60)
        assert log is not None
        await log.write(Batch(1, 1, 1, b"x" * 200, ends=True))
    kept = [number for number in range(20) if (await event_log(saver, "t", f"r{number}", 60).read()).batches]  # type: ignore[union-attr]
    assert kept == [15, 16, 17, 18, 19]


async def test_a_run_does_not_wait_for_a_log_that_hangs(
    dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It begins, and its events are not kept; the log says so."""
    monkeypatch.setattr(orchestrator, "LOOKED_UP_WITHIN", 0.1)
    client, go_on = dynamo.fresh_client(), threading.Event()

    def hang(request: Any, **_: Any) -> None:
        if b"-events" in request.body:
            go_on.wait(20)

    client.meta.events.register("before-send.dynamodb.Query", hang)
    saver = DynamoDBSaver(dynamo.checkpoints, client=client)
    graph = single(lambda state: {"messages": [AIMessage("done", id="a")]}).compile(checkpointer=saver)
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    asked = {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "hello"}], **empty}
    recorder = Recorder(event_log(saver, "t", "r", 60), encode)
    events = AgentRun(RunAgentInput.model_validate(asked), graph, agent="a", recorder=recorder).events()
    sent = b"".join([recorder.frame(event) async for event in events])
    assert not go_on.is_set()
    go_on.set()
    assert codes(sent)[-1] == "RUN_FINISHED"
    kept = event_log(DynamoDBSaver(dynamo.checkpoints, client=dynamo.client), "t", "r", 60)
    assert kept is not None
    assert (await kept.last()).number == 0
    assert "did not answer in time" in caplog.text


# following


async def test_a_live_run_is_followed_to_its_end(log: EventLog) -> None:
    """From any number on, also from one that is not kept yet."""
    recorder = recorder_of(log)
    sent = [recorder.frame(START), recorder.frame(OPEN)]
    readers = [asyncio.create_task(all_of(follow(log, LIVE, after=after))) for after in (0, 1, 2, 3)]
    for _ in range(4):
        await asyncio.sleep(0.1)
        sent.append(recorder.frame(WORD))
    await recorder.end(END)
    sent.append(recorder.frame(END))
    for after, reader in enumerate(readers):
        assert await asyncio.wait_for(reader, 5) == b"".join(sent[after:])


class Partial:
    """A log that keeps only some of its batches."""

    def __init__(self, *batches: Batch, expired: bool = False) -> None:
        self.batches, self.expired = batches, expired

    async def write(self, batch: Batch) -> None:
        raise NotImplementedError

    async def last(self) -> Last:
        return Last(self.batches[-1].last, self.batches[-1].ends)

    async def read(self, after: int = 0) -> Kept:
        return Kept([batch for batch in self.batches if batch.last > after], self.expired)


def kept(*events: BaseEvent, first: int = 1, fence: int = 1, ends: bool = False) -> Batch:
    return Batch(first, len(events), fence, b"".join(b"id: %d\n%b" % pair for pair in enumerate(map(encode, events), first)), ends)


ENDS: dict[str, tuple[Following, list[str]]] = {
    "died": (follow(Partial(kept(START, OPEN)), OVER), ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_LOST"]),
    "died, seen to its last event": (follow(Partial(kept(START, OPEN)), OVER, after=2), ["TEXT_MESSAGE_END", "RUN_LOST"]),
    "died before anything was kept": (follow(Partial(), OVER), ["RUN_STARTED", "RUN_LOST"]),
    "died, and its id runs again": (
        follow(Partial(kept(START), kept(START, END, first=20, fence=2, ends=True)), NEXT),
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
    "died and seen, and its id runs again": (
        follow(Partial(kept(START, OPEN), kept(WORD, first=3), kept(START, END, first=20, fence=2, ends=True)), NEXT, after=2),
        ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_LOST"],
    ),
    "died and seen to its last kept event, and its id runs again": (
        follow(Partial(kept(START), kept(START, END, first=20, fence=2, ends=True)), NEXT, after=1),
        ["RUN_LOST"],
    ),
    "died with less kept than was seen": (follow(Partial(kept(START, OPEN)), OVER, after=5), ["RUN_LOST"]),
    "a gap": (follow(Partial(kept(START), kept(END, first=3, ends=True))), ["RUN_STARTED", "EVENTS_MISSING"]),
    "the deadline of the one who looks": (
        follow(Partial(kept(START)), LIVE, remaining_ms=lambda: 1_000),
        ["RUN_STARTED", "JOIN_ENDED"],
    ),
    "a later part of a repeated id": (
        follow(Partial(kept(START, END, ends=True), kept(START, END, first=3, fence=2, ends=True)), after=2),
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
    "what a dead one wrote late": (
        follow(Partial(kept(START, fence=2), kept(WORD, first=2, fence=1), kept(END, first=2, fence=2, ends=True)), NEXT),
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
    "by its lease": (
        follow(Partial(kept(START, END, ends=True), kept(START, END, first=3, fence=2, ends=True)), after=None, fence=2),
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
}


@pytest.mark.parametrize(("found", "said"), ENDS.values(), ids=ENDS)
async def test_a_joined_stream_always_ends(found: Following, said: list[str]) -> None:
    """What is open is closed first, and nothing is left out in silence."""
    assert await found.goes_on()
    raw = await asyncio.wait_for(all_of(found), 5)
    assert codes(raw) == said


async def test_a_table_that_is_away_for_a_moment_ends_no_stream(dynamo: Dynamo) -> None:
    """What cannot be read is asked for again; the stream is the one that was sent."""
    client = dynamo.fresh_client()
    log = event_log(DynamoDBSaver(dynamo.checkpoints, client=client), "t", "r", 60)
    assert log is not None
    recorder = recorder_of(log)
    sent = recorder.frame(START) + recorder.frame(OPEN)
    reader = asyncio.create_task(all_of(follow(log, LIVE)))
    await asyncio.sleep(0.3)
    with Faults(client).inject(Fault.SERVER_ERROR, operation="Query", times=8) as faults:  # the SDK itself tries six times
        for _ in range(600):
            await asyncio.sleep(0.1)
            if faults.injected == 8:
                break
        else:
            pytest.fail("it was not asked again")
    sent += await record(recorder, [WORD, END])
    assert await asyncio.wait_for(reader, 30) == sent


async def test_a_table_that_stays_away_is_said(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal event of the stream; what the client has stays."""
    monkeypatch.setattr(following, "UNREADABLE_SECONDS", 0.1)

    class Away(Partial):
        async def read(self, after: int = 0) -> Kept:
            if after:
                raise TableMissing("events")
            return await super().read(after)

    assert codes(await all_of(follow(Away(kept(START, OPEN)), LIVE))) == ["RUN_STARTED", "TEXT_MESSAGE_START", "EVENTS_UNREADABLE"]


NOTHING: dict[str, tuple[Callable[[], Following], int | None]] = {
    "the end was seen": (lambda: follow(Partial(kept(START, END, ends=True)), OVER, after=2), None),
    "more than the end": (lambda: follow(Partial(kept(START, END, ends=True)), OVER, after=9), None),
    "no such run": (lambda: follow(Partial(), None), 404),
    "another has the thread": (lambda: follow(Partial(), Holder("other", 1, 9.0)), 404),
    "expired": (lambda: follow(Partial(expired=True), None), 410),
}


@pytest.mark.parametrize(("found", "status"), NOTHING.values(), ids=NOTHING)
async def test_nothing_to_join(found: Callable[[], Following], status: int | None) -> None:
    """It is said before a stream begins."""
    if status is None:
        assert not await found().goes_on()
        return
    with pytest.raises(RunRejected) as refused:
        await found().goes_on()
    assert refused.value.status == status
