"""One stream as it was sent: the input, the events, and the SSE bytes if there were any."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

Json = Mapping[str, Any]
Wire = Json | BaseModel

# Streamed texts that the state never receives, by agent (`writer` says this while it works): both clients drop them at the snapshot.
TRANSIENT: Mapping[str, frozenset[str]] = {"writer": frozenset({"编写中…"})}


@dataclass(frozen=True, slots=True)
class Recording:
    """Wire shapes (camelCase keys). `transient`: texts of messages that may be missing from the snapshot."""

    input: Json
    events: Sequence[Json]
    raw: bytes | None = None
    transient: frozenset[str] = frozenset()

    def of(self, *types: str) -> list[Json]:
        """The events of these types, in order."""
        return [event for event in self.events if event.get("type") in types]

    @property
    def last(self) -> Json:
        return self.events[-1] if self.events else {}

    @property
    def messages(self) -> Sequence[Json]:
        """The history as the client sent it."""
        return self.input.get("messages") or ()

    @property
    def snapshot(self) -> Sequence[Json] | None:
        """The messages of the last MESSAGES_SNAPSHOT."""
        snapshots = self.of("MESSAGES_SNAPSHOT")
        return snapshots[-1]["messages"] if snapshots else None

    def write(self, path: Path) -> None:
        """As `stream_check.mjs` reads it: `path` gets JSON lines, and the bytes go beside it with the suffix `.sse`."""
        first = {**self.input, "$transient": sorted(self.transient)} if self.transient else self.input
        path.write_text("".join(json.dumps(line) + "\n" for line in (first, *self.events)), "utf-8", newline="\n")
        if self.raw is not None:
            path.with_suffix(".sse").write_bytes(self.raw)


def recording(input: Wire, events: Iterable[Wire], *, raw: bytes | None = None, transient: Iterable[str] = ()) -> Recording:
    """A Recording from wire dicts or `ag_ui.core` models, mixed as they come."""
    return Recording(on_wire(input), [on_wire(event) for event in events], raw, frozenset(transient))


def on_wire(item: Wire) -> Json:
    """The wire shape of a model; a dict is one already."""
    return item.model_dump(mode="json", by_alias=True) if isinstance(item, BaseModel) else item
