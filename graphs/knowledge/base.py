"""One knowledge base as it is kept: who may read it, and its documents, each with its state and the segment that holds its chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from graphs.knowledge.errors import DocumentBusy

Status = Literal["draft", "indexing", "completed", "error"]

EVERYBODY = "*"
FORMAT = 1
CLAIM_SECONDS = 900.0
"""A claim on a document ends by itself after Lambda's longest run: whoever held it is gone."""
INTERRUPTED = "The import broke off. Import the document again."


@dataclass(frozen=True, slots=True)
class Entry:
    """A document. `segment` holds the version that is searched, also while the next one is a draft, is made, or has failed.

    `text`: the piece that holds the draft; `updated_at` in seconds since 1970; `embedder`: the model of its vectors; `claim`: the import at
    work, until `until`.
    """

    doc_id: str
    title: str
    status: Status
    updated_at: float
    text: str = ""
    characters: int = 0
    chunks: int = 0
    segment: str = ""
    embedder: str = ""
    claim: str = ""
    until: float = 0.0
    error: str = ""

    def busy(self, now: float) -> bool:
        return self.status == "indexing" and self.until > now

    def seen(self, now: float) -> Entry:
        """As a list shows it: an import that died is an error."""
        died = self.status == "indexing" and not self.busy(now)
        return replace(self, status="error", error=INTERRUPTED) if died else self


@dataclass(frozen=True, slots=True)
class Base:
    """`owner` None: of the deployment, changed from its command line. `readers`: principals, or `EVERYBODY`."""

    kb_id: str
    owner: str | None = None
    readers: tuple[str, ...] = (EVERYBODY,)
    documents: Mapping[str, Entry] = field(default_factory=dict)

    def may_read(self, who: str) -> bool:
        return who == self.owner or who in self.readers or EVERYBODY in self.readers

    @property
    def segments(self) -> dict[str, frozenset[str]]:
        """Segment → the documents of it that are searched."""
        found: dict[str, set[str]] = {}
        for entry in self.documents.values():
            if entry.segment:
                found.setdefault(entry.segment, set()).add(entry.doc_id)
        return {segment: frozenset(ids) for segment, ids in found.items()}

    @property
    def pieces(self) -> frozenset[str]:
        """What of the shelf is its own: segments and drafts."""
        return frozenset(piece for entry in self.documents.values() for piece in (entry.segment, entry.text) if piece)

    def with_entries(self, entries: Iterable[Entry]) -> Base:
        return replace(self, documents={**self.documents, **{entry.doc_id: entry for entry in entries}})

    def without(self, doc_id: str) -> Base:
        return replace(self, documents={key: entry for key, entry in self.documents.items() if key != doc_id})

    def check_free(self, doc_ids: Iterable[str], now: float, claim: str = "") -> None:
        """
        Raises:
            DocumentBusy: an import other than `claim` is at work on some of them.
        """
        entries = [self.documents[doc_id] for doc_id in doc_ids if doc_id in self.documents]
        if busy := [entry.doc_id for entry in entries if entry.busy(now) and entry.claim != claim]:
            raise DocumentBusy(busy)

    def dump(self) -> bytes:
        documents = [asdict(entry) for entry in self.documents.values()]
        kept = {"format": FORMAT, "kbId": self.kb_id, "owner": self.owner, "readers": self.readers, "documents": documents}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def load(cls, data: bytes) -> Base:
        """Raises `ValueError`, `KeyError` or `TypeError` for what `dump` did not make."""
        kept: dict[str, Any] = json.loads(data)
        if kept["format"] != FORMAT:
            raise ValueError(f"a knowledge base of format {kept['format']}, this version reads {FORMAT}")
        documents = {entry["doc_id"]: Entry(**entry) for entry in kept["documents"]}
        return cls(kept["kbId"], kept["owner"], tuple(kept["readers"]), documents)
