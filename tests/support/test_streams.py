"""The checker finds every kind of broken stream by its name, in Python and in Node alike, and lets legal ones pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import sample_streams as sample
from tests.support.recording import recording
from tests.support.sse import framing_faults, read_sse
from tests.support.stream_rules import RULES
from tests.support.streams import StreamRecorder, Violation, check_stream, check_with_clients, violations

NOT_OURS = ("AGUI", "client-")
IN_PYTHON_ONLY = {"finite-numbers", "framing"}


def our_rules(found: list[Violation]) -> set[str]:
    return {violation.rule for violation in found if not violation.rule.startswith(NOT_OURS)}


@pytest.mark.parametrize("name", sample.GOOD)
def test_a_legal_stream_passes(name: str) -> None:
    """Neither our rules nor ag-ui-validate object to a legal stream."""
    check_stream(*sample.GOOD[name])


@pytest.mark.parametrize("name", sample.BROKEN)
def test_a_broken_stream_is_found_by_its_rule(name: str) -> None:
    """Each broken stream is named by exactly the rules of its row."""
    input, events, rules = sample.BROKEN[name]
    assert our_rules(violations(recording(input, events))) == rules


def test_every_rule_has_a_broken_stream() -> None:
    """No rule is there that the table does not break."""
    assert set().union(*(rules for _, _, rules in sample.BROKEN.values())) == set(RULES) - IN_PYTHON_ONLY


def write_all(folder: Path) -> None:
    rows = [(name, input, events) for name, (input, events) in sample.GOOD.items()]
    rows += [(name, input, events) for name, (input, events, _) in sample.BROKEN.items()]
    for name, input, events in rows:
        recording(input, events).write(folder / f"{name}.jsonl")


@pytest.mark.node
def test_node_agrees(tmp_path: Path) -> None:
    """Both clients accept every legal stream in silence; the Node checker names the same rules as ours for the broken ones."""
    write_all(tmp_path)
    found = check_with_clients(tmp_path)
    assert {file: found[file] for file in found if file.removesuffix(".jsonl") in sample.GOOD} == {}
    assert {name: our_rules(found.get(f"{name}.jsonl", [])) for name in sample.BROKEN} == {
        name: rules for name, (_, _, rules) in sample.BROKEN.items()
    }


CLIENTS_REFUSE = {
    "text open at the end": {"client-1.0.0", "client-0.0.59"},
    "an event after the end": {"client-1.0.0", "client-0.0.59"},
    "reasoning without a start": {"client-1.0.0", "client-0.0.59"},
    "cancelled to an old peer": {"client-0.0.59"},
    "two results": set(),
}


@pytest.mark.node
def test_the_clients_own_objections_are_reported(tmp_path: Path) -> None:
    """What a client refuses is reported under its version; what both swallow is left to our rules."""
    for name in CLIENTS_REFUSE:
        input, events, _ = sample.BROKEN[name]
        recording(input, events).write(tmp_path / f"{name}.jsonl")
    found = check_with_clients(tmp_path)
    objections = {
        name: {violation.rule for violation in found[f"{name}.jsonl"] if violation.rule.startswith("client-")} for name in CLIENTS_REFUSE
    }
    assert objections == CLIENTS_REFUSE


@pytest.mark.node
def test_the_bytes_as_sent_are_what_the_clients_read(tmp_path: Path) -> None:
    """CRLF framing, which the events alone do not show, fails in the clients."""
    input, events = sample.GOOD["text"]
    recording(input, events, raw=sample.body(events, json.dumps).replace(b"\n", b"\r\n")).write(tmp_path / "crlf.jsonl")
    assert {violation.rule for violation in check_with_clients(tmp_path)["crlf.jsonl"]} == {"client-1.0.0", "client-0.0.59"}


def test_a_transient_text_may_leave() -> None:
    """A text that the agent names as transient may be missing from the snapshot, another one not."""
    input, events, _ = sample.BROKEN["text lost at the snapshot"]
    check_stream(input, events, transient=["你好, world"])
    with pytest.raises(AssertionError, match="streamed-id-kept: a2"):
        check_stream(input, events, transient=["你好"])


@pytest.mark.node
def test_node_knows_transient_texts(tmp_path: Path) -> None:
    """The allow-list travels with the recording."""
    input, events, _ = sample.BROKEN["text lost at the snapshot"]
    recording(input, events, transient=["你好, world"]).write(tmp_path / "transient.jsonl")
    assert check_with_clients(tmp_path) == {}


def test_nan_is_found() -> None:
    """NaN, which no JSON parser of a client reads, is named."""
    events = sample.run({"type": "CUSTOM", "name": "x", "value": float("nan")})
    assert our_rules(violations(recording(sample.PLAIN, events))) == {"finite-numbers"}


FRAMES = {
    b'data: {"type":"X"}\n\n': None,
    b": still here\n\n:\n\nid: 3\nevent: message\ndata: {}\n\n": None,
    b"": None,
    b"data: {}\r\n\r\n": "carriage return",
    b"data: {}\n": "not ended",
    b"data: {}\ndata: {}\n\n": "two data lines",
    b"data: {}{}\n\n": "Extra data",
    b"data: [DONE]\n\n": "Expecting value",
    b"data: [1]\n\n": "not a JSON object",
    b'data: {"a":NaN}\n\n': "NaN is not JSON",
    b'data: {"a":-Infinity}\n\n': "-Infinity is not JSON",
    b'data: {"a":"\xff"}\n\n': "can't decode",
    b"{}\n\n": "not an SSE line",
    b'data: "' + b"x" * (8 * 1024 * 1024) + b'"\n\n': "a frame of 8388",
}


@pytest.mark.parametrize(("raw", "fault"), FRAMES.items(), ids=[frame[:24].decode("latin1") for frame in FRAMES])
def test_framing(raw: bytes, fault: str | None) -> None:
    """LF only, a blank line after each frame, one JSON object a frame, no NaN, no frame over 8 MB."""
    faults = list(framing_faults(raw))
    assert (faults == []) if fault is None else any(fault in found for found in faults)


def test_read_sse_refuses_what_is_not_framed_right() -> None:
    """A body is read whole or not at all."""
    assert read_sse(b': hi\n\ndata: {"type":"A"}\n\ndata: {"type":"B"}\n\n') == [{"type": "A"}, {"type": "B"}]
    with pytest.raises(ValueError, match="not ended"):
        read_sse(b'data: {"type":"A"}')


def test_the_recorder_refuses_at_once(tmp_path: Path) -> None:
    """A broken stream fails the test that made it and is not kept for the clients; a legal one is kept under its name."""
    recorder = StreamRecorder(tmp_path)
    recorder.record("one / two", *sample.GOOD["text"])
    with pytest.raises(AssertionError, match="left-open: text a2"):
        recorder.record("bad", *sample.BROKEN["text open at the end"][:2])
    assert [path.name for path in tmp_path.iterdir()] == ["00001-one-two.jsonl"]
