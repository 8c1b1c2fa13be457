"""A plain HTTP caller of an agent's function URL: what a client sends, but free to send what the clients refuse to."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.recording import Json, Recording
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. `pieces`: (seconds since the request was sent, bytes), as they arrived."""

    status: int
    headers: Mapping[str, str]
    pieces: Sequence[tuple[float, bytes]]

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def arrivals(self) -> list[tuple[float, str]]:
        """(seconds, event type) for each event, at the time its frame was complete."""
        seen, found = b"", []
        for when, piece in self.pieces:
            *frames, seen = (seen + piece).split(b"\n\n")
            found += [(when, event["type"]) for frame in frames for event in read_sse(frame + b"\n\n")]
        return found


def post(url: str, content: bytes | Json, **more: str) -> Answer:
    """POST a body, or a dict as JSON; reads the response to its end. `more`: headers, with `_` for `-`."""
    sent: dict[str, Any] = {"json": content} if isinstance(content, Mapping) else {"content": content}
    headers = {"accept": "text/event-stream", "content-type": "application/json"} | {k.replace("_", "-"): v for k, v in more.items()}
    start = time.monotonic()
    with httpx.stream("POST", url, headers=headers, timeout=60, trust_env=False, **sent) as response:
        pieces = [(time.monotonic() - start, piece) for piece in response.iter_raw()]
        return Answer(response.status_code, response.headers, pieces)


@dataclass(frozen=True, slots=True)
class Run:
    """One POST that became a legal stream, and was recorded."""

    recording: Recording
    answer: Answer

    def of(self, *types: str) -> list[Json]:
        return self.recording.of(*types)

    @property
    def end(self) -> Json:
        return self.recording.last

    @property
    def outcome(self) -> str | None:
        return (self.end.get("outcome") or {}).get("type")

    @property
    def interrupts(self) -> list[Json]:
        return list((self.end.get("outcome") or {}).get("interrupts") or ())

    @property
    def text(self) -> str:
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))

    def arguments(self, call: str) -> str:
        """The arguments of a tool call, as they were streamed."""
        return "".join(event["delta"] for event in self.of("TOOL_CALL_ARGS") if event["toolCallId"] == call)


@dataclass
class Conversation:
    """One thread as a client keeps it: the whole history is sent each time, and each snapshot replaces it."""

    url: str
    recorder: StreamRecorder
    thread_id: str = field(default_factory=lambda: f"t-{uuid.uuid4()}")
    messages: list[Json] = field(default_factory=list)

    def input(self, **more: Any) -> dict[str, Any]:
        """A RunAgentInput with the history so far; `more` are fields of it."""
        fields = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
        return {"threadId": self.thread_id, "runId": f"r-{uuid.uuid4()}", "messages": self.messages, **fields, **more}

    def say(self, text: str, **more: Any) -> Run:
        """One run with a new user message."""
        self.messages = [*self.messages, {"id": f"u-{uuid.uuid4()}", "role": "user", "content": text}]
        return self.run(self.input(**more))

    def resume(self, answers: Mapping[str, Any], **more: Any) -> Run:
        """One run that answers interrupts: id → payload, in that order."""
        entries = [{"interruptId": id, "status": "resolved", "payload": payload} for id, payload in answers.items()]
        return self.run(self.input(resume=entries, **more))

    def run(self, input: Json) -> Run:
        """POST `input`; AssertionError unless it is answered by a legal stream."""
        answer = post(self.url, input)
        assert answer.status == 200, f"{answer.status}: {answer.body[:500]!r}"
        rec = self.recorder.record(self.thread_id[:12], input, read_sse(answer.body), raw=answer.body)
        if rec.snapshot is not None:
            self.messages = list(rec.snapshot)
        return Run(rec, answer)

    def stored(self) -> dict[str, Any]:
        """What `GET …/threads/{id}/messages` says."""
        response = httpx.get(f"{self.url}threads/{self.thread_id}/messages", timeout=30, trust_env=False)
        response.raise_for_status()
        return dict(response.json())
