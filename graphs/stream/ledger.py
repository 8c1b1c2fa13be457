"""The ledger of announced tool calls: the model's ids on one side, the ids on the wire on the other.

A model may repeat a call id in a later turn, or send none. AG-UI ids are unique in a thread, so the second `c1` is `c1~2` on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_REPEATED = re.compile(r"~(\d+)$")


class CallLedger:
    """Which calls this thread has announced. `announced` are wire ids."""

    def __init__(self, announced: Iterable[str] = ()) -> None:
        self._turns: dict[str, int] = {}
        self._newest: dict[tuple[str | None, str], str] = {}
        self._owners: dict[str, str | None] = {}
        self._answered: set[str] = set()
        self.unanswered: dict[str, str] = {}
        """Wire id → model's id, of calls announced in this stream (or open in history) that have no result yet."""
        self.streamed: set[str] = set()
        """Wire ids of the calls announced in this stream."""
        for wire in announced:
            self.learn(wire, answered=True)

    def learn(self, wire: str, *, answered: bool) -> None:
        """A call of the thread's history."""
        repeated = _REPEATED.search(wire)
        raw, turn = (wire[: repeated.start()], int(repeated[1])) if repeated else (wire, 1)
        if turn >= self._turns.get(raw, 0):
            self._turns[raw] = turn
            self._newest[None, raw] = wire
        if answered:
            self.answer(wire)
        elif wire not in self._answered:  # a state may be older than what waits beside it
            self.unanswered[wire] = raw

    def announce(self, raw: str, owner: str | None = None) -> str:
        """A model's message makes this call: its new wire id. `owner` is the sub-agent that the model works for."""
        self._turns[raw] = turn = self._turns.get(raw, 0) + 1
        wire = wire_id(raw, turn)
        self._newest[owner, raw] = wire
        self._owners[wire] = owner
        self.unanswered[wire] = raw
        self.streamed.add(wire)
        return wire

    def current(self, raw: str, owner: str | None = None) -> str | None:
        """The wire id of the newest call with the model's id, or None if it was never announced.

        Sub-agents side by side may use the same ids. A call is its owner's; else one that waits and was made by a graph around the owner or
        inside it, since a graph may run what another one's model called.
        """
        if own := self._newest.get((owner, raw)):
            return own
        return next((wire for wire in reversed(self.waiting(owner)) if self.unanswered[wire] == raw), None)

    def waiting(self, owner: str | None) -> list[str]:
        """Wire ids of the calls without result that may be this owner's business, its own last."""
        near = [wire for wire in self.unanswered if _related(self._owners.get(wire), owner)]
        return sorted(near, key=lambda wire: self._owners.get(wire) == owner)

    def answer(self, wire: str) -> None:
        self._answered.add(wire)
        self.unanswered.pop(wire, None)


def _related(one: str | None, other: str | None) -> bool:
    """Whether one graph is inside the other (or the same): the id of a sub-agent begins with that of the one around it."""
    return one is None or other is None or one == other or one.startswith(f"{other}|") or other.startswith(f"{one}|")


def wire_id(raw: str, turn: int) -> str:
    """`c1` in its first turn, `c1~2` in its second."""
    return raw if turn == 1 else f"{raw}~{turn}"


def generated_call_id(message_id: str, position: int) -> str:
    """The id of a call that the model sent without one: the same when streamed and when stored. `position` counts the message's calls."""
    return f"call:{message_id}:{position}"
