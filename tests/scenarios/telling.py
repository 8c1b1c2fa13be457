"""A scenario's streams as a text that can be read: what the client sends behind `>`, then an event a line, ids by order of appearance."""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support.agent_thread import AgentThread
from tests.support.protocol import line
from tests.support.recording import Json, Recording, Wire, on_wire, recording
from tests.support.streams import StreamRecorder

_IDS = re.compile(r"(?:lc_run--|note-|connect-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_UNSAID = ("timestamp", "rawEvent", "usage", "threadId", "runId", "role", "metadata", "input", "protocolVersion")


class Keeper(StreamRecorder):
    """Keeps the recordings instead of checking them."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.gettempdir()))
        self.recordings: list[Recording] = []

    def record(
        self, name: str, input: Wire, events: Iterable[Wire], *, raw: bytes | None = None, transient: Iterable[str] = ()
    ) -> Recording:
        self.recordings.append(recording(input, events, raw=raw, transient=transient))
        return self.recordings[-1]


class KeptThread(AgentThread):
    """A thread that also keeps streams which are no runs."""

    keeper: Keeper

    def keep(self, name: str, events: Iterable[Wire]) -> None:
        """A stream that the server made for this thread, under the run id of its own."""
        sent = [on_wire(event) for event in events]
        given = {"threadId": self.id, "runId": sent[0]["runId"], "messages": [], "protocolVersion": "1.0"}
        self.keeper.record(name, given, sent)


async def recordings_of(scenario: Callable[[Any], Awaitable[None]]) -> list[Recording]:
    """Play it; every stream of it, in order."""
    keeper = Keeper()

    def new(graph: Any, **settings: Any) -> AgentThread:
        thread = KeptThread(keeper, graph, **settings)
        thread.keeper = keeper
        return thread

    logging.disable(logging.ERROR)  # failing runs are part of it
    try:
        await scenario(new)
    finally:
        logging.disable(logging.NOTSET)
    return keeper.recordings


def told(title: str, recordings: Iterable[Recording]) -> str:
    """The whole story; the same for every run of the same code."""
    lines, seen = [f"# {title}"], set[str]()
    for rec in recordings:
        lines += ["", *_sent(rec.input, seen), *(text for event in _joined(rec.events) for text in _event(event))]
        seen |= {message["id"] for message in [*rec.messages, *(rec.snapshot or ())]}
    names: dict[str, str] = {}
    return _IDS.sub(lambda found: names.setdefault(found[0], f"<{len(names) + 1}>"), "\n".join(lines) + "\n")


def _sent(given: Json, seen: set[str]) -> Iterator[str]:
    if given["runId"].startswith("connect-"):
        yield "> connect"
        return
    for message in given["messages"][-1:]:
        if message["id"] not in seen or not given.get("resume"):
            yield f"> {message['role']}: {_content(message.get('content'))}"
    for entry in given.get("resume") or ():
        yield f"> resume {entry['interruptId']}: {entry['status']} {_short(entry.get('payload'))}"
    if given.get("state"):
        yield f"> state: {_short(given['state'])}"


def _joined(events: Iterable[Json]) -> list[dict[str, Any]]:
    """The pieces of one item that follow each other as one."""
    joined: list[dict[str, Any]] = []
    for event in events:
        last = joined[-1] if joined else {}
        if isinstance(event.get("delta"), str) and all(last.get(k) == v for k, v in event.items() if k not in ("delta", "timestamp")):
            last["delta"] += event["delta"]
        else:
            joined.append(dict(event))
    return joined


def _event(event: dict[str, Any]) -> Iterator[str]:
    failed = {"error": True} if (event.get("metadata") or {}).get("error") else {}
    said = {k: v for k, v in event.items() if k not in _UNSAID and v is not None} | failed
    messages, outcome = said.pop("messages", ()), said.pop("outcome", None)
    outcome = dict(outcome or {})
    interrupts = outcome.pop("interrupts", ())
    flat = {k: v if isinstance(v, str) else _short(v) for k, v in said.items()}
    yield " ".join([line(flat), *([outcome.pop("type")] if outcome else []), *([_short(outcome)] if outcome else [])])
    for message in messages:
        calls = "".join(f" calls {c['id']} {c['function']['name']}({c['function']['arguments']})" for c in message.get("toolCalls") or ())
        answers = f" of {message['toolCallId']}" if message["role"] == "tool" else ""
        failure = " (failed)" if message.get("error") else ""
        yield f"    {message['id']} {message['role']}{answers}: {_content(message.get('content'))}{calls}{failure}"
    for question in interrupts:
        about = f" about {question['toolCallId']}" if question.get("toolCallId") else ""
        yield f"    {question['id']} {question['reason']}{about}: {question.get('message', '')}"


def _content(content: Any) -> str:
    return content if isinstance(content, str) else "" if content is None else _short(content)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
