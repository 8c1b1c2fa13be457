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
        self.unanswered: dict[str, str] = {}
        """Wire id → model's id, of calls announced in this stream (or open in history) that have no result yet."""
        self.streamed: set[str] = set()
        """Wire ids of the calls announced in this stream."""
        for wire in announced:
            self.learn(wire, answered=True)

    def learn(self, wire: str, *, answered: bool) -> None:
        """A call of the thread's history."""
        repeated = _REPEATED.search(wire)
        raw = wire[: repeated.start()] if repeated else wire
        self._turns[raw] = max(self._turns.get(raw, 0), int(repeated[1]) if repeated else 1)
        if answered:
            self.answer(wire)
        else:
            self.unanswered[wire] = raw

    def announce(self, raw: str) -> str:
        """A model's message makes this call: its new wire id."""
        self._turns[raw] = turn = self._turns.get(raw, 0) + 1
        wire = wire_id(raw, turn)
        self.unanswered[wire] = raw
        self.streamed.add(wire)
        return wire

    def current(self, raw: str) -> str | None:
        """The wire id of the newest call with the model's id, or None if it was never announced."""
        turn = self._turns.get(raw)
        return None if turn is None else wire_id(raw, turn)

    def answer(self, wire: str) -> None:
        self.unanswered.pop(wire, None)


def wire_id(raw: str, turn: int) -> str:
    """`c1` in its first turn, `c1~2` in its second."""
    return raw if turn == 1 else f"{raw}~{turn}"


def generated_call_id(message_id: str, position: int) -> str:
    """The id of a call that the model sent without one: the same when streamed and when stored. `position` counts the message's calls."""
    return f"call:{message_id}:{position}"
