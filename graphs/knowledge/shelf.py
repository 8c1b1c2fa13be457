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


class SegmentGone(LookupError):
    """It was replaced since its base was read: read the base again."""


class Shelf(Protocol):
    """Blocking; called from threads. Everything raises `KnowledgeUnavailable` when the store cannot be reached.

    Only a base's record ever changes, by comparing tags. Segments are written once, under names of their own. A text is a document's last
    draft.
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

    def read_segment(self, kb_id: str, name: str) -> bytes:
        """Raises `SegmentGone`."""
        ...

    def write_segment(self, kb_id: str, name: str, data: bytes) -> None: ...

    def delete_segments(self, kb_id: str, names: Iterable[str]) -> None: ...

    def read_text(self, kb_id: str, doc_id: str) -> str | None: ...

    def write_texts(self, kb_id: str, texts: Mapping[str, str]) -> None: ...

    def delete_text(self, kb_id: str, doc_id: str) -> None: ...


class MemoryShelf:
    """For tests, and for whoever embeds the agents without a store."""

    def __init__(self) -> None:
        self._bases: dict[str, Kept] = {}
        self._segments: dict[tuple[str, str], bytes] = {}
        self._texts: dict[tuple[str, str], str] = {}
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

    def read_segment(self, kb_id: str, name: str) -> bytes:
        try:
            return self._segments[kb_id, name]
        except KeyError:
            raise SegmentGone(name) from None

    def write_segment(self, kb_id: str, name: str, data: bytes) -> None:
        self._segments[kb_id, name] = data

    def delete_segments(self, kb_id: str, names: Iterable[str]) -> None:
        for name in names:
            self._segments.pop((kb_id, name), None)

    def read_text(self, kb_id: str, doc_id: str) -> str | None:
        return self._texts.get((kb_id, doc_id))

    def write_texts(self, kb_id: str, texts: Mapping[str, str]) -> None:
        self._texts |= {(kb_id, doc_id): text for doc_id, text in texts.items()}

    def delete_text(self, kb_id: str, doc_id: str) -> None:
        self._texts.pop((kb_id, doc_id), None)
