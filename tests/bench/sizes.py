"""What a turn sends: bytes of a text delta, and of whole turns on a thread with a long history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.report import Check, Measured, Row
from tests.bench.subjects import OURS, Server, answering_graph, nested_graph, run_input, serve_ours
from tests.bench.threads import QUESTION, remember

HISTORY, TOKENS = 200, 200
ROOT_LIMIT, ATTRIBUTED_LIMIT, TURN_LIMIT_KB = 125, 200, 450
SECOND_QUESTION = {"id": "question2", "role": "user", "content": "And then?"}


async def measure_sizes(servers: Mapping[str, Server], history: int = HISTORY, tokens: int = TOKENS) -> Measured:
    """A row per server: its first and second turn. Text deltas are measured on ours alone, at the root and in a sub-agent."""
    rows = [await _turns(name, server, history, tokens) for name, server in {OURS: serve_ours, **servers}.items()]
    root, attributed = [await _largest_delta(graph) for graph in (answering_graph(tokens), nested_graph(tokens))]
    checks = [
        Check("a text delta at the root", root, ROOT_LIMIT, "bytes"),
        Check("a text delta of a sub-agent", attributed, ATTRIBUTED_LIMIT, "bytes"),
        Check(f"a turn of {tokens} tokens after {history} messages of 2 KB", rows[0]["first_turn_kb"], TURN_LIMIT_KB, "KB"),
        Check("RAW events in it", rows[0]["raw_events"], 0, "events"),
        Check("its second turn, beyond the messages that it added", rows[0]["second_grows_kb"], 1, "KB"),
    ]
    title = f"What a turn of {tokens} tokens sends after {history} messages of 2 KB"
    return Measured("bytes", title, rows, checks, "first_turn_kb")


async def _turns(name: str, server: Server, history: int, tokens: int) -> Row:
    graph = answering_graph(tokens)
    known = await remember(graph, 0, history)
    first = [frame async for frame in server(graph, run_input(0, [*known, QUESTION]))]
    known = _snapshot(first)
    second = [frame async for frame in server(graph, run_input(0, [*known, SECOND_QUESTION], run="second"))]
    added = len(json.dumps(_snapshot(second), ensure_ascii=False)) - len(json.dumps(known, ensure_ascii=False))
    return {
        "way": name,
        "first_turn_kb": _kb(sum(map(len, first))),
        "second_turn_kb": _kb(sum(map(len, second))),
        "second_grows_kb": _kb(sum(map(len, second)) - sum(map(len, first)) - added),
        "events": len(first),
        "raw_events": sum(_event(frame)["type"] == "RAW" for frame in first),
    }


async def _largest_delta(graph: Any) -> int:
    """Without the line of its number."""
    frames = [frame async for frame in serve_ours(graph, run_input(0)) if b'"TEXT_MESSAGE_CONTENT"' in frame]
    return max(len(_data(frame)) for frame in frames)


def _snapshot(frames: Sequence[bytes]) -> Sequence[Mapping[str, Any]]:
    """The messages as the client has them after the turn."""
    messages: Sequence[Mapping[str, Any]] = [_event(frame) for frame in frames if b'"MESSAGES_SNAPSHOT"' in frame][-1]["messages"]
    return messages


def _event(frame: bytes) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(_data(frame).removeprefix(b"data: "))
    return event


def _data(frame: bytes) -> bytes:
    return frame[frame.index(b"data: ") :]


def _kb(size: int) -> float:
    return round(size / 1000, 1)
