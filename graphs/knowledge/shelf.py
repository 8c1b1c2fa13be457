"""Where knowledge bases are kept: what a store has to offer, and one in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol
from uuid import uuid4


class Kept(NamedTuple):
    """A base's record and the tag of this version of it."""

    data: bytes
    tag: str


class PieceGone(LookupError):
    """It was replaced since its base was read: read the base again."""


class Shelf(Protocol):
    """Blocking; called from threads. Everything raises `KnowledgeUnavailable` when the store cannot be reached.

    Only a base's record ever changes, by comparing tags. Its pieces (segments, and the texts of drafts) are written once, under names of
    their own: what a writer that was too late has made is never read.
    """

    def bases(self) -> list[str]:
        """Ids of all knowledge bases."""
        ...

    def read(self, kb_id: str) -> Kept | None: ...

    def changed(self, kb_id: str, tag: str) -> bool:
        """Whether the base's record is another one by now."""
        ...

    def write(self, kb_id: str, data: bytes, tag: str | None) -> bool:
        """False, and nothing is written, if the record has another tag by now (None: if there is one)."""
        ...

    def read_piece(self, kb_id: str, name: str) -> bytes:
        """Raises `PieceGone`."""
        ...

    def write_pieces(self, kb_id: str, pieces: Mapping[str, bytes]) -> None: ...

    def delete_pieces(self, kb_id: str, names: Iterable[str]) -> None: ...


class MemoryShelf:
    """For tests, and for whoever embeds the agents without a store."""

    def __init__(self) -> None:
        self._bases: dict[str, Kept] = {}
        self._pieces: dict[tuple[str, str], bytes] = {}
        self._lock = threading.Lock()

    def bases(self) -> list[str]:
        return sorted(self._bases)

    def read(self, kb_id: str) -> Kept | None:
        return self._bases.get(kb_id)

    def changed(self, kb_id: str, tag: str) -> bool:
        kept = self._bases.get(kb_id)
        return kept is None or kept.tag != tag

    def write(self, kb_id: str, data: bytes, tag: str | None) -> bool:
        with self._lock:
            there = self._bases.get(kb_id)
            if (there.tag if there else None) != tag:
                return False
            self._bases[kb_id] = Kept(data, uuid4().hex)
            return True

    def read_piece(self, kb_id: str, name: str) -> bytes:
        try:
            return self._pieces[kb_id, name]
        except KeyError:
            raise PieceGone(name) from None

    def write_pieces(self, kb_id: str, pieces: Mapping[str, bytes]) -> None:
        self._pieces |= {(kb_id, name): data for name, data in pieces.items()}

    def delete_pieces(self, kb_id: str, names: Iterable[str]) -> None:
        for name in names:
            self._pieces.pop((kb_id, name), None)
