"""The SDK's session in the thread's own checkpoints.

The CLI writes its transcript to a disk that the next invocation does not have. The SDK hands every line of it to a `SessionStore`, and
lays a stored one out again before the CLI starts. Here the store is the graph's state: what a run added is an update of the node, so a
run that failed or was aborted leaves the session as it was, a fork (edit, regenerate) goes on from the transcript of that moment, and
whatever deletes, expires or keeps apart the thread does so with its session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

MAIN = ""


class Line(TypedDict):
    """One line of a transcript: `file` is "" for the session itself, `subagents/…` for one of its sub-agents."""

    file: str
    entry: dict[str, Any]


class Asked(TypedDict):
    """A call that waits for the user's word: the id of its tool use, the tool's name, its input."""

    id: str
    name: str
    input: dict[str, Any]


def extend(lines: Sequence[Line], updates: Sequence[Sequence[Line]]) -> list[Line]:
    """The reducer of the state's transcript."""
    return [*lines, *(line for update in updates for line in update)]


class Session:
    """A `SessionStore` of the SDK for one run: `lines` as the thread has them, `added` what this run wrote."""

    def __init__(self, session_id: str | None = None, lines: Sequence[Line] = ()) -> None:
        self.session_id = session_id
        self.added: list[Line] = []
        self._lines = lines

    async def append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        self.added += [Line(file=key.get("subpath", MAIN), entry=dict(entry)) for entry in entries]

    async def load(self, key: Mapping[str, str]) -> list[dict[str, Any]] | None:
        """The file's entries. The key's project is left aside: it is made of the working directory, which may be another by now."""
        if key["session_id"] != self.session_id:
            return None
        return [line["entry"] for line in self._lines if line["file"] == key.get("subpath", MAIN)] or None

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        return list(dict.fromkeys(line["file"] for line in self._lines if line["file"]))
