"""One person's conversation: what is sent, what must come back, and how a client of ours goes on when a stream breaks off."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.joining import events_url, frames, number_of, said
from tests.support.recording import Json, recording
from tests.support.sse import read_sse
from tests.support.streams import violations

AGAIN_SECONDS = 0.5
GIVES_UP = 180.0
"""Seconds after which a turn that could not be brought to its end is a fault."""
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")
DIED = ("RUN_LOST", "EVENTS_MISSING", "EVENTS_UNREADABLE")
"""Ends of a joined stream after which the same request is sent again."""


@dataclass(slots=True)
class Turn:
    """What came of one turn. Times in seconds since its request; None: that did not happen."""

    kind: str
    began: float
    first_byte: float | None = None
    first_event: float | None = None
    first_token: float | None = None
    whole: float | None = None
    model: float = 0.0
    """What the model alone takes."""
    joined: float | None = None
    """From asking for a left stream's rest to its first event."""
    stopped: float | None = None
    """From asking for the stop to the answer that the thread is free."""
    broken: int = 0
    """Times that its run died with its worker."""
    broke_at: float | None = None
    recovered: float | None = None
    """From a stream's breaking off to the run's end."""
    faults: list[str] = field(default_factory=list)


class Broken(Exception):
    """The stream broke off, or the request was not answered as it should be: its worker died."""


@dataclass
class Talker:
    """`model_seconds`: of one token. `busy`: told the worker of each stream while it is open."""

    client: httpx.AsyncClient
    url: str
    agent: str
    chance: random.Random
    model_seconds: float
    busy: set[int]
    started: float
    thread_id: str = field(default_factory=lambda: f"t-{uuid.uuid4()}")
    messages: list[Any] = field(default_factory=list)

    async def turn(self) -> Turn:
        """One of the things that people do, by chance."""
        counts = self.agent == "reactAgent"
        kinds: dict[str, tuple[int, Callable[[Turn], Awaitable[None]]]] = {
            "answer": (45 if counts else 0, self._answer),
            "left": (15, self._left),
            "stopped": (10 if counts else 0, self._stopped),
            "searched": (15, self._searched),
            "asked": (15 if counts else 0, self._asked),
        }
        (kind,) = self.chance.choices(list(kinds), [weight for weight, _ in kinds.values()])
        turn = Turn(kind, time.monotonic() - self.started)
        since = time.monotonic()
        try:
            async with asyncio.timeout(GIVES_UP):
                await kinds[kind][1](turn)
        except TimeoutError:
            turn.faults.append(f"no end after {GIVES_UP:.0f} s")
        except AssertionError as error:
            turn.faults.append(f"{error}")
        turn.whole = time.monotonic() - since
        return turn

    # -- what people do

    async def _answer(self, turn: Turn, leave_after: int | None = None) -> None:
        count = self.chance.randint(10, 60)
        turn.model = count * self.model_seconds
        events = await self._run(turn, self._input(f"count to {count}"), leave_after)
        self._ends(events, "success")
        wanted = " ".join(str(number + 1) for number in range(count))
        assert self.messages[-1].get("content") == wanted, f"{self.messages[-1]} is not {wanted}"

    async def _left(self, turn: Turn) -> None:
        """In the middle, and comes back for the rest."""
        does = self._answer if self.agent == "reactAgent" else self._searched
        await does(turn, self.chance.randint(1, 25))

    async def _searched(self, turn: Turn, leave_after: int | None = None) -> None:
        events = await self._run(turn, self._input("what is the leave policy?"), leave_after)
        self._ends(events, "success")
        assert "leave" in self.messages[-1]["content"].lower(), self.messages[-1]

    async def _asked(self, turn: Turn) -> None:
        events = await self._run(turn, self._input("ask two questions"))
        questions = self._ends(events, "interrupt")["outcome"]["interrupts"]
        assert len(questions) == 2, questions
        said = {question["id"]: f"{question['message']} {uuid.uuid4()}" for question in questions}
        resume = [{"interruptId": id, "status": "resolved", "payload": {"value": value}} for id, value in said.items()]
        await asyncio.sleep(self.chance.random())
        self._ends(await self._run(turn, self._input(None, resume=resume)), "success")
        told = [message["content"] for message in self.messages if message["role"] == "tool"][-2:]
        for value in said.values():
            assert any(value in content for content in told), f"the answer {value} is not among {told}"

    async def _stopped(self, turn: Turn) -> None:
        after = self.chance.randint(3, 20)
        input = self._input("count to 200")
        waiting = asyncio.create_task(self._stop_after(turn, input, after))
        try:
            events = await self._run(turn, input)
        finally:
            # the answer comes when the run has ended; none does where it has ended by itself
            await asyncio.wait([waiting], timeout=4 * AGAIN_SECONDS)
            waiting.cancel()
            await asyncio.wait([waiting])
        outcome = (events[-1].get("outcome") or {}).get("type")
        assert outcome == "cancelled" or turn.stopped is None or turn.broken, f"was stopped and ends with {events[-1]}"
        self.messages = await self._stored()

    async def _stop_after(self, turn: Turn, input: Json, after: int) -> None:
        await asyncio.sleep(after * self.model_seconds + 0.2)
        while turn.stopped is None:  # again where it was a run that had died, and runs anew
            since = time.monotonic()
            answer = await self._sent("POST", f"{self.url}threads/{self.thread_id}/stop", json={"runId": input["runId"]})
            if answer is not None and answer.status_code == 200:
                turn.stopped = time.monotonic() - since
            await asyncio.sleep(2 * AGAIN_SECONDS)

    # -- a run, to its end

    async def _run(self, turn: Turn, input: Json, leave_after: int | None = None) -> Sequence[Json]:
        """What a client does: it joins again when a stream breaks off, and asks again when the run has died."""
        since = time.monotonic()
        while True:
            try:
                raw = await self._attempt(turn, input, since, leave_after)
                break
            except Broken:
                turn.broken += 1
                turn.broke_at = turn.broke_at or time.monotonic()
                await asyncio.sleep(AGAIN_SECONDS)
        if turn.broke_at is not None:
            turn.recovered, turn.broke_at = time.monotonic() - turn.broke_at, None
        events = read_sse(raw)
        numbers = [number_of(frame) for frame in frames(raw)]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"not one after the other: {numbers}"
        found = violations(recording(input, events, raw=raw))
        assert not found, "; ".join(map(str, found))
        snapshot = next((event["messages"] for event in reversed(events) if event["type"] == "MESSAGES_SNAPSHOT"), None)
        if snapshot is not None:
            mine = [message["id"] for message in input["messages"] if message["role"] == "user"]
            theirs = [message["id"] for message in snapshot if message["role"] == "user"]
            assert theirs == mine, f"messages of another thread, or lost ones: {theirs} for {mine}"
            self.messages = snapshot
        return events

    async def _attempt(self, turn: Turn, input: Json, since: float, leave_after: int | None) -> bytes:
        """One stream, from RUN_STARTED to its terminal event. Raises `Broken` where its run has died."""
        raw = b""
        while True:
            async with self._stream("POST", self.url, json=input, headers={"Idempotency-Key": input["runId"]}) as response:
                if response.status_code == 409:
                    await asyncio.sleep(AGAIN_SECONDS)  # the dead run still has the thread
                    continue
                raw = await self._read(response, turn, since, leave_after)
            break
        while read_end(raw) is None:
            if not frames(raw):
                raise Broken
            raw += await self._rest(turn, input, number_of(frames(raw)[-1]))
        if read_end(raw) in DIED:
            raise Broken
        return raw

    async def _rest(self, turn: Turn, input: Json, after: int) -> bytes:
        since = time.monotonic()
        async with self._stream("GET", events_url(self.url, input, after)) as response:
            if response.status_code != 200:
                raise Broken
            joined = Turn("joined", 0.0)
            rest = await self._read(response, joined, since, None)
        if turn.joined is None and joined.first_byte is not None:
            turn.joined = joined.first_byte
        return rest if b'"JOIN_ENDED"' not in rest else b""

    async def _read(self, response: httpx.Response, turn: Turn, since: float, leave_after: int | None) -> bytes:
        raw = b""
        worker = int(response.headers.get("x-worker-pid", "0"))
        self.busy.add(worker)
        try:
            async for piece in response.aiter_raw():
                raw += piece
                now = time.monotonic() - since
                turn.first_byte = turn.first_byte or now
                if turn.first_event is None and b"RUN_STARTED" in raw:
                    turn.first_event = now
                if turn.first_token is None and b"TEXT_MESSAGE_CONTENT" in raw:
                    turn.first_token = now
                if leave_after is not None and raw.count(b"\n\n") >= leave_after:
                    break
        except httpx.TransportError:
            turn.broke_at = turn.broke_at or time.monotonic()  # its worker was killed: what came is what there is
        finally:
            self.busy.discard(worker)
        # whole frames only
        return said(raw[: raw.rfind(b"\n\n") + 2]) if b"\n\n" in raw else b""

    def _stream(self, method: str, url: str, **more: Any) -> Opened:
        return Opened(self.client, method, url, more)

    async def _sent(self, method: str, url: str, **more: Any) -> httpx.Response | None:
        try:
            return await self.client.request(method, url, **more)
        except httpx.TransportError:
            return None

    async def _stored(self) -> list[Any]:
        while True:
            answer = await self._sent("GET", f"{self.url}threads/{self.thread_id}/messages")
            if answer is not None and answer.status_code == 200:
                return list(answer.json()["messages"])
            await asyncio.sleep(AGAIN_SECONDS)

    def _input(self, text: str | None, **more: Any) -> dict[str, Any]:
        if text is not None:
            self.messages = [*self.messages, {"id": f"u-{uuid.uuid4()}", "role": "user", "content": text}]
        fields = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
        return {"threadId": self.thread_id, "runId": f"r-{uuid.uuid4()}", "messages": self.messages, **fields, **more}

    @staticmethod
    def _ends(events: Sequence[Json], outcome: str) -> Json:
        last = events[-1]
        assert (last.get("outcome") or {}).get("type") == outcome, f"ends with {last}, not with {outcome}"
        return last


class Opened:
    """A response that is being read. Raises `Broken` where there is none, or one that says that there is no worker."""

    def __init__(self, client: httpx.AsyncClient, method: str, url: str, more: dict[str, Any]) -> None:
        self._opening = client.stream(method, url, **more)

    async def __aenter__(self) -> httpx.Response:
        try:
            response = await self._opening.__aenter__()
        except httpx.TransportError as error:
            raise Broken from error
        if response.status_code >= 500:
            text = (await response.aread()).decode("utf-8", "replace")
            await self._opening.__aexit__(None, None, None)
            raise Broken(text)
        assert response.status_code in (200, 204, 404, 409, 410), f"{response.status_code}: {await response.aread()!r}"
        return response

    async def __aexit__(self, *raised: Any) -> None:
        await self._opening.__aexit__(*raised)


def read_end(raw: bytes) -> str | None:
    """The code or type of a stream's terminal event; None: it has none."""
    found = frames(raw)
    last = read_sse(found[-1])[0] if found else {}
    return str(last.get("code") or last["type"]) if last.get("type") in TERMINAL else None
