"""Frames, and the response that sends them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from ag_ui.encoder import EventEncoder

from functions.web.sse import COMMENT, FRAME_TOO_LARGE, MAX_FRAME_BYTES, EventStream, encode
from tests.support.sse import framing_faults, read_sse

DELTAS = {
    "text": TextMessageContentEvent(message_id="m", delta='a "quoted" \n line'),
    "emoji": TextMessageContentEvent(message_id="m", delta="好的 🙂 \u2028"),
    "owned": ReasoningMessageContentEvent(message_id="m:reasoning:0", delta="x", subagent_run_id="a:1|b:2"),
    "arguments": ToolCallArgsEvent(tool_call_id="c~2", delta='{"a": "\\u0000"}'),
    "with time": TextMessageContentEvent(message_id="m", delta="x", timestamp=5),
    "with metadata": TextMessageContentEvent(message_id="m", delta="x", metadata={"k": 1}),
    "with a foreign field": TextMessageContentEvent.model_validate({"messageId": "m", "delta": "x", "foreign": 1}),
}


@pytest.mark.parametrize("event", DELTAS.values(), ids=DELTAS)
def test_the_fast_frame_says_what_pydantic_says(event: BaseEvent) -> None:
    """The hot path writes the same JSON as AG-UI's own encoder."""
    theirs = EventEncoder().encode(event)
    assert json.loads(encode(event)[6:]) == json.loads(theirs[6:])
    assert len(encode(event)) <= len(theirs.encode())


NASTY = {
    "a lone surrogate in a delta": TextMessageContentEvent(message_id="m", delta="half \ud83d"),
    "a lone surrogate in a value": CustomEvent(name="n", value={"k": "\udc00"}),
    "NaN": StateSnapshotEvent(snapshot={"x": float("nan")}),
    "an object": CustomEvent(name="n", value={"o": object()}),
}


@pytest.mark.parametrize("event", NASTY.values(), ids=NASTY)
def test_what_is_not_json_is_made_json(event: BaseEvent) -> None:
    """No frame holds NaN or half a character, and none is left out."""
    frame = encode(event)
    assert list(framing_faults(frame)) == []
    assert read_sse(frame)[0]["type"] == event.type.value


def test_a_frame_that_no_client_takes_is_replaced() -> None:
    """Over 8 MB a client aborts: the reader is told what was left out."""
    [event] = read_sse(encode(StateSnapshotEvent(snapshot={"x": "y" * MAX_FRAME_BYTES})))
    assert (event["type"], event["name"], event["value"]["type"]) == ("CUSTOM", "frame_omitted", "STATE_SNAPSHOT")


HUGE = "y" * MAX_FRAME_BYTES
INPUT = RunAgentInput.model_validate(
    {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "forwardedProps": {}, "state": {"x": HUGE}}
)
ENDS_TOO_LARGE = {
    "a result": RunFinishedEvent(thread_id="t", run_id="r", result={"x": HUGE}),
    "an error": RunErrorEvent(message=HUGE),
}


@pytest.mark.parametrize("event", ENDS_TOO_LARGE.values(), ids=ENDS_TOO_LARGE)
def test_an_end_that_no_client_takes_is_still_an_end(event: BaseEvent) -> None:
    """Without a terminal event a client would wait for ever: it reads an error instead."""
    [said] = read_sse(encode(event))
    assert (said["type"], said["code"]) == ("RUN_ERROR", FRAME_TOO_LARGE)


def test_a_start_that_no_client_takes_goes_without_its_input() -> None:
    """A stream must begin with RUN_STARTED."""
    [said] = read_sse(encode(RunStartedEvent(thread_id="t", run_id="r", input=INPUT)))
    assert (said["type"], said["threadId"], said["runId"]) == ("RUN_STARTED", "t", "r")
    assert not said.get("input")


END = RunFinishedEvent(thread_id="t", run_id="r")


class Client:
    """The receiving end of an ASGI response; `gone_after` messages it fails like a closed socket."""

    def __init__(self, gone_after: int | None = None) -> None:
        self.messages: list[Any] = []
        self._gone_after = gone_after

    async def send(self, message: Any) -> None:
        if self._gone_after is not None and len(self.messages) >= self._gone_after:
            raise OSError("connection reset")
        self.messages.append(message)

    async def receive(self) -> Any:
        return await asyncio.Event().wait()

    @property
    def body(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.messages)


async def play(stream: EventStream, client: Client) -> None:
    await stream({"type": "http"}, client.receive, client.send)


async def test_a_silent_stream_is_kept_open_by_comments() -> None:
    """A comment comes after a burst has settled, and again after every heartbeat; clients ignore them."""

    async def events() -> AsyncIterator[BaseEvent]:
        yield DELTAS["text"]
        await asyncio.sleep(1.3)
        yield END

    client = Client()
    await play(EventStream(events(), heartbeat=0.4), client)
    assert client.body.count(COMMENT) >= 2
    assert [e["type"] for e in read_sse(client.body)] == ["TEXT_MESSAGE_CONTENT", "RUN_FINISHED"]


async def test_a_client_that_goes_away_does_not_stop_the_run() -> None:
    """The run is read to its end, and what must follow it is done."""
    seen: list[int] = []
    after: list[str] = []

    async def events() -> AsyncIterator[BaseEvent]:
        for number in range(20):
            await asyncio.sleep(0.001)
            seen.append(number)
            yield DELTAS["text"]
        yield END

    async def touched() -> None:
        after.append("touched")

    await play(EventStream(events(), heartbeat=9, after=touched), Client(gone_after=3))
    assert (len(seen), after) == (20, ["touched"])


async def test_a_cancelled_response_cancels_the_run() -> None:
    """A server that shuts down ends the graph too."""
    ended = asyncio.Event()

    async def events() -> AsyncIterator[BaseEvent]:
        try:
            yield DELTAS["text"]
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(play(EventStream(events(), heartbeat=9), Client()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_slow_client_slows_the_run() -> None:
    """Frames do not pile up without bound while the connection pushes back."""
    made = 0
    blocked = asyncio.Event()

    async def events() -> AsyncIterator[BaseEvent]:
        nonlocal made
        for _ in range(5_000):
            made += 1
            yield DELTAS["text"]
        yield END

    class Slow(Client):
        async def send(self, message: Any) -> None:
            if message["type"] == "http.response.body":
                await blocked.wait()
            await super().send(message)

    task = asyncio.create_task(play(EventStream(events(), heartbeat=9), Slow()))
    await asyncio.sleep(0.3)
    waiting = made
    blocked.set()
    await task
    assert waiting < 2_500
    assert made == 5_000
