"""The public state as snapshots and patches: what is sent when, and that it applies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import jsonpatch
import pytest
from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.stream.lifecycle import Refused
from graphs.stream.state import StateMapper, patch, public_state, same_json

Json = dict[str, Any]

PATCHES: dict[str, tuple[Json, Json, list[Json]]] = {
    "nothing": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, []),
    "a new key": ({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
    "a key that is gone": ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
    "null is a value": ({"a": 1}, {"a": None}, [{"op": "replace", "path": "/a", "value": None}]),
    "true is not one": ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
    "inside an object": ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3, "d": 2}}}, [{"op": "replace", "path": "/a/b/c", "value": 3}]),
    "appended": ({"a": [1, 2]}, {"a": [1, 2, 3]}, [{"op": "add", "path": "/a/2", "value": 3}]),
    "inserted": ({"a": ["long", "list"]}, {"a": ["new", "long", "list"]}, [{"op": "add", "path": "/a/0", "value": "new"}]),
    "another list": ({"a": [1, 2, 3]}, {"a": [4, 5, 6]}, [{"op": "replace", "path": "/a", "value": [4, 5, 6]}]),
    "another type": ({"a": [1]}, {"a": "x"}, [{"op": "replace", "path": "/a", "value": "x"}]),
    "escaped": ({"a/b": 1, "m~n": 1}, {"m~n": 2}, [{"op": "remove", "path": "/a~1b"}, {"op": "replace", "path": "/m~0n", "value": 2}]),
    "the empty key": ({}, {"": 1}, [{"op": "add", "path": "/", "value": 1}]),
}


@pytest.mark.parametrize("row", PATCHES)
def test_patches(row: str) -> None:
    """Small: objects by key, lists by place, what would outgrow the value replaced."""
    old, new, expected = PATCHES[row]
    assert patch(old, new) == expected


leaves = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["", "x", "yy"])
)
documents = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab~/"), inner, max_size=3))
states = st.dictionaries(st.sampled_from(["a", "b", "a/b", "~1"]), documents, max_size=4)


@settings(deadline=None)
@given(states, states)
def test_any_patch_applies(old: Json, new: Json) -> None:
    """Old state and patch make the new state; the patch as JSON, as it travels."""
    operations = json.loads(json.dumps(patch(old, new)))
    assert same_json(jsonpatch.apply_patch(old, operations), json.loads(json.dumps(new)))


def test_public_state() -> None:
    """Named keys that have a value; without names all but the messages and LangGraph's own; JSON-safe."""
    values = {"a": {1}, "b": float("nan"), "messages": ["x"], "__interrupt__": ()}
    assert public_state(values, ["b", "messages", "c"]) == {"b": None}
    assert public_state(values, None) == {"a": [1], "b": None}


class Client:
    """Applies what the mapper sends, and keeps it as a list of snapshots and lists of operations."""

    def __init__(self, keys: Sequence[str] | None = None, predictions: Sequence[tuple[str, str, str]] = ()) -> None:
        self.mapper = StateMapper(keys, predictions)
        self.state: Any = {}
        self.sent: list[Any] = []
        self.waiting: set[str] = set()

    def take(self, events: Iterable[BaseEvent]) -> None:
        for event in events:
            if isinstance(event, StateSnapshotEvent):
                self.state = event.snapshot
                self.sent.append(event.snapshot)
            elif isinstance(event, StateDeltaEvent):
                operations = [operation.model_dump(by_alias=True) for operation in event.delta]
                self.state = jsonpatch.apply_patch(self.state, operations)
                self.sent.append(operations)

    def step(self, **values: Any) -> Any:
        self.take(self.mapper.step(values, self.waiting))
        return self.state

    def writes(self, event: BaseEvent) -> Any:
        self.take(self.mapper.native(event))
        return self.state

    def calls(self, name: str, *pieces: str, wire: str = "c1") -> None:
        """A call that streams and waits for its result."""
        self.waiting.add(wire)
        start, end = ToolCallStartEvent(tool_call_id=wire, tool_call_name=name), ToolCallEndEvent(tool_call_id=wire)
        middle = [ToolCallArgsEvent(tool_call_id=wire, delta=piece) for piece in pieces]
        self.take(self.mapper.predicted([start, *middle, end]))


def delta(*operations: Json) -> StateDeltaEvent:
    return StateDeltaEvent.model_validate({"delta": operations})


def test_steps() -> None:
    """Nothing for the state that the run starts with or a step without change; before the first patch what it patches."""
    client = Client()
    client.step(a=1)
    client.step(a=1)
    assert client.sent == []
    assert client.step(a=2, b=[]) == {"a": 2, "b": []}
    client.step(a=2, b=[])
    client.step(a=2, b=[1])
    first = [{"op": "replace", "path": "/a", "value": 2}, {"op": "add", "path": "/b", "value": []}]
    assert client.sent == [{"a": 1}, first, [{"op": "add", "path": "/b/0", "value": 1}]]


def test_a_list_that_a_node_changed_in_place() -> None:
    """What was sent is a copy."""
    client, items = Client(), ["x"]
    client.step(items=items)
    items.append("y")
    assert client.step(items=items) == {"items": ["x", "y"]}


def test_native_patches() -> None:
    """They are on top of what the client has; at the end of the step the graph's keys are the graph's again, a node's own keys stay."""
    client = Client()
    client.step(a=1)
    assert client.writes(delta({"op": "add", "path": "/a", "value": 9}, {"op": "add", "path": "/own", "value": 1})) == {"a": 9, "own": 1}
    assert client.sent[0] == {"a": 1}
    assert client.step(a=2) == {"a": 2, "own": 1}
    assert client.writes(StateSnapshotEvent(snapshot={"other": 1})) == {"other": 1}
    assert client.step(a=2) == {"other": 1, "a": 2}


@pytest.mark.parametrize("odd", [None, [1], "x"])
def test_native_snapshots_that_are_no_object(odd: Any) -> None:
    """The next step shows the state whole."""
    client = Client()
    client.step(a=1)
    client.writes(StateSnapshotEvent(snapshot=odd))
    assert client.step(a=1) == {"a": 1}
    assert client.sent == [odd, {"a": 1}]


BAD_PATCHES: dict[str, Json] = {
    "no such key": {"op": "replace", "path": "/b", "value": 1},
    "no such place": {"op": "remove", "path": "/a/7"},
    "a failed test": {"op": "test", "path": "/a", "value": 9},
    "through a leaf": {"op": "add", "path": "/n/x", "value": 1},
}


@pytest.mark.parametrize("row", BAD_PATCHES)
@pytest.mark.parametrize("shown", [True, False])
def test_a_native_patch_that_does_not_apply(row: str, shown: bool) -> None:
    """Refused: clients would warn and go on with another state than ours."""
    client = Client()
    client.step(a=[1], n=1)
    if shown:
        client.step(a=[1, 2], n=1)
    had = list(client.sent)
    with pytest.raises(Refused, match="does not apply"):
        client.writes(delta(BAD_PATCHES[row]))
    assert client.sent == had


DRAFT = [("write", "text", "draft")]


def test_a_prediction_grows_and_comes_true() -> None:
    """The argument as far as it got, at each piece; a step that leaves the call open changes nothing; the real state says nothing new."""
    client = Client(predictions=DRAFT)
    client.step(draft="old", n=1)
    client.calls("write", '{"title": "t", "te', 'xt": "He', "llo\\", 'nyou"', "}")
    assert client.sent == [
        {"draft": "old", "n": 1},
        [{"op": "replace", "path": "/draft", "value": "He"}],
        [{"op": "replace", "path": "/draft", "value": "Hello"}],
        [{"op": "replace", "path": "/draft", "value": "Hello\nyou"}],
    ]
    client.step(draft="old", n=2)
    assert client.state == {"draft": "Hello\nyou", "n": 2}
    client.waiting.clear()
    sent = len(client.sent)
    assert client.step(draft="Hello\nyou", n=2) == {"draft": "Hello\nyou", "n": 2}
    assert len(client.sent) == sent


@pytest.mark.parametrize("before", [{"draft": "old"}, {}])
def test_a_prediction_that_does_not_come_true(before: Json) -> None:
    """The step that answers the call corrects it; so does the end of a run that fails."""
    for settle in (True, False):
        client = Client(predictions=DRAFT)
        client.step(**before)
        client.calls("write", '{"text": "new"}')
        assert client.state == {"draft": "new"}
        client.waiting.clear()
        if settle:
            client.take(client.mapper.settle())
        else:
            client.step(**before)
        assert client.state == before


NO_PREDICTION: dict[str, tuple[str, ...]] = {
    "another tool": ("other", '{"text": "x"}'),
    "another argument": ("write", '{"body": "x"}'),
    "no object": ("write", '["text"]'),
    "no JSON": ("write", "text: x"),
    "nothing": ("write",),
}


@pytest.mark.parametrize("row", NO_PREDICTION)
def test_what_predicts_nothing(row: str) -> None:
    """Arguments that are not there, or not yet."""
    client = Client(predictions=DRAFT)
    client.step(draft="old")
    client.calls(*NO_PREDICTION[row])
    assert client.sent == []


def test_a_long_prediction_costs_no_square() -> None:
    """A text of 20,000 characters in 5,000 pieces: at most 40 times its size, and whole at the end."""
    client = Client(predictions=DRAFT)
    client.step()
    client.calls("write", '{"text": "', *["word "] * 4000, '"}')
    assert client.state == {"draft": "word " * 4000}
    assert len(json.dumps(client.sent)) < 40 * 20_000
