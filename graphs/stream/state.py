"""The graph's public state → STATE_SNAPSHOT, and STATE_DELTA (RFC 6902) between super-steps. `messages` are never part of it.

A predicted value and what a node wrote itself hold until the step that makes them true ends; then the graph's own state is shown.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
from ag_ui.core import BaseEvent, EventType, StateDeltaEvent, StateSnapshotEvent
from jsonpointer import JsonPointerException
from langchain_core.utils.json import parse_partial_json

from graphs.stream.jsonable import jsonable
from graphs.stream.lifecycle import Refused

Prediction = tuple[str, str, str]
"""(tool, argument, state key): while the argument of a call of that tool streams, the key shows it as far as it got."""
State = dict[str, Any]

GROWTH = 32
"""A predicted value is sent again once its call has grown by 1/32: a patch holds the whole value, so a long one would cost its square."""

_NOT_APPLICABLE = (jsonpatch.JsonPatchException, JsonPointerException, TypeError, ValueError, LookupError, AttributeError)


def public_state(values: Mapping[str, Any], keys: Iterable[str] | None) -> State:
    """The named keys that have a value, JSON-safe; without names every key but the messages and LangGraph's own."""
    names = [k for k in values if not k.startswith("__")] if keys is None else keys
    return {k: jsonable(values[k]) for k in names if k in values and k != "messages"}


def same_json(one: Any, other: Any) -> bool:
    """Equal as JSON: `true` is not 1, an object's order means nothing."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def patch(old: State, new: State) -> list[dict[str, Any]]:
    """RFC 6902 operations that turn `old` into `new`, a key of the state at a time; a key whose patch outgrows it is replaced."""
    operations = [{"op": "remove", "path": _pointer(key)} for key in old if key not in new]
    for key, value in new.items():
        if key not in old:
            operations.append({"op": "add", "path": _pointer(key), "value": value})
        else:
            operations += _changed(key, old[key], value)
    return operations


def _changed(key: str, old: Any, new: Any) -> list[dict[str, Any]]:
    if old == new and json.dumps(old) == json.dumps(new):  # what most keys of most steps are; jsonpatch takes a hundred times as long
        return []
    made: list[dict[str, Any]] = jsonpatch.make_patch({key: old}, {key: new}).patch
    if len(made) > 1 and len(json.dumps(made)) > len(json.dumps(new)):
        return [{"op": "replace", "path": _pointer(key), "value": new}]
    return made


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


@dataclass(slots=True)
class _Streaming:
    """A call whose arguments are on their way. `due`: length at which they are looked at again."""

    targets: list[tuple[str, str]]
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    due: int = 0


class StateMapper:
    """One per stream. It knows what the client has, so that each patch applies to it."""

    def __init__(self, keys: Sequence[str] | None, predictions: Sequence[Prediction] = ()) -> None:
        self._keys = keys
        self._predictions = predictions
        self._real: State | None = None
        self._client: Any = None
        self.shown = False
        """Whether the stream said anything of the state."""
        self._held: dict[str, str] = {}
        self._predicted: set[str] = set()
        self._calls: dict[str, _Streaming] = {}

    def step(self, values: Mapping[str, Any], waiting: Container[str]) -> Iterator[BaseEvent]:
        """A `values` event of the run. Predictions for calls that are still `waiting` for their result (wire ids) stay."""
        before, self._real = self._real, public_state(values, self._keys)
        self._held = {key: wire for key, wire in self._held.items() if wire in waiting}
        if before is not None:
            yield from self._show(before)

    def native(self, event: Any) -> Iterator[BaseEvent]:
        """A STATE_* event that a node wrote itself.

        Raises:
            Refused: the patch does not apply to what the client has.
        """
        if event.type is EventType.STATE_SNAPSHOT:
            self._client, self.shown = event.snapshot, True
            self._held.clear()
            yield event
            return
        base = self._client if self.shown else (self._real or {})
        try:
            patched = jsonpatch.apply_patch(base, [operation.model_dump(by_alias=True) for operation in event.delta])
        except _NOT_APPLICABLE as error:
            raise Refused(f"STATE_DELTA does not apply to the state that the client has: {error}") from error
        if not self.shown:
            yield self._snapshot(base)
        self._client = patched
        yield event

    def predicted(self, events: Iterable[BaseEvent]) -> Iterator[BaseEvent]:
        """The events of the messages channel, each followed by what it predicts."""
        for event in events:
            yield event
            yield from self._predict(event)

    def settle(self) -> Iterator[BaseEvent]:
        """The run fails or stops: what was predicted did not come true."""
        if self._held:
            self._held.clear()
            yield from self._show(self._real or {})

    def _predict(self, event: Any) -> Iterator[BaseEvent]:
        if event.type is EventType.TOOL_CALL_START:
            targets = [(argument, key) for tool, argument, key in self._predictions if tool == event.tool_call_name]
            if targets:
                self._calls[event.tool_call_id] = _Streaming(targets)
        elif event.type is EventType.TOOL_CALL_ARGS and (call := self._calls.get(event.tool_call_id)):
            call.pieces.append(event.delta)
            call.length += len(event.delta)
            if call.length >= call.due:
                call.due = call.length + max(1, call.length // GROWTH)
                yield from self._take(event.tool_call_id, call)
        elif event.type is EventType.TOOL_CALL_END and (call := self._calls.pop(event.tool_call_id, None)):
            yield from self._take(event.tool_call_id, call)

    def _take(self, wire: str, call: _Streaming) -> Iterator[BaseEvent]:
        arguments = _parsed("".join(call.pieces))
        real = self._real or {}
        for argument, key in call.targets:
            if argument in arguments:
                self._held[key] = wire
                self._predicted.add(key)
                yield from self._show(real, {key: arguments[argument]})

    def _show(self, base: State, predicted: Mapping[str, Any] | None = None) -> Iterator[BaseEvent]:
        """Patches what the client has towards the graph's state; `base` is what it gets first if it has nothing yet."""
        real = self._real or {}
        has = self._client if self.shown else base
        if not isinstance(has, dict):
            yield self._snapshot(real)
            return
        own = base.keys() | self._predicted  # the other keys are a node's, which the graph's state knows nothing of
        kept = {k: v for k, v in has.items() if k in self._held or k not in own}
        target = {**kept, **{k: v for k, v in real.items() if k not in self._held}, **(predicted or {})}
        operations = patch(has, target)
        if not operations:
            return
        if not self.shown:
            yield self._snapshot(base)
        self._client = target
        yield StateDeltaEvent.model_validate({"delta": operations})

    def _snapshot(self, state: Any) -> StateSnapshotEvent:
        self._client, self.shown = state, True
        return StateSnapshotEvent(snapshot=state)


def _parsed(arguments: str) -> State:
    try:
        parsed = jsonable(parse_partial_json(arguments))
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
