"""The documents and their index."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath

from graphs.knowledge.bm25 import Bm25
from graphs.knowledge.chunking import Chunk, chunk_markdown
from graphs.knowledge.errors import KnowledgeUnavailable

TOP_K = 5

_STOP_WORDS = re.compile(
    r"\b(a|an|and|are|at|be|by|do|does|for|from|how|i|in|is|it|me|my|of|on|or|the|there|to|what|when|where|which|who|why)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown text under its id in one knowledge base."""

    kb_id: str
    doc_id: str
    markdown: str


class Knowledge:
    """A searchable set of documents, held in memory and never changed."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._chunks = [chunk for doc in documents for chunk in chunk_markdown(doc.markdown, kb_id=doc.kb_id, doc_id=doc.doc_id)]
        self._index = Bm25([f"{' '.join(chunk.headings)}\n{chunk.text}" for chunk in self._chunks])

    @property
    def kb_ids(self) -> frozenset[str]:
        """The knowledge bases there are: what a client may name."""
        return frozenset(chunk.kb_id for chunk in self._chunks)

    def search(self, query: str, kb_id: str | None = None, *, limit: int = TOP_K) -> list[Chunk]:
        """The best chunks, best first; of one knowledge base, or of all when `kb_id` is None. An unknown `kb_id` finds nothing.

        A subclass that asks a store elsewhere raises `KnowledgeUnavailable` when it cannot be reached.
        """
        scores = self._index.scores(_without_stop_words(query))
        ranked = sorted(scores, key=lambda position: (-scores[position], position))
        return [chunk for chunk in (self._chunks[position] for position in ranked) if kb_id in (None, chunk.kb_id)][:limit]

    def chunk(self, doc_id: str, chunk_id: str) -> Chunk | None:
        """The chunk a link points at."""
        return next((chunk for chunk in self._chunks if (chunk.doc_id, chunk.chunk_id) == (doc_id, chunk_id)), None)


def _without_stop_words(query: str) -> str:
    """The query without common English words; as it is if nothing else is in it."""
    kept = _STOP_WORDS.sub(" ", query)
    return kept if kept.strip(" ?.,!") else query


@lru_cache(maxsize=1)
def bundled() -> Knowledge:
    """The documents that come with this package: `documents/<kbId>/<docId>.md`.

    Raises:
        KnowledgeUnavailable: they cannot be read.
    """
    return Knowledge(read_documents(files("graphs.knowledge") / "documents"))


def read_documents(root: Traversable) -> list[Document]:
    """Every `<kbId>/<docId>.md` under a folder.

    Raises:
        KnowledgeUnavailable: it cannot be read.
    """
    try:
        return [
            Document(folder.name, PurePath(entry.name).stem, entry.read_text(encoding="utf-8"))
            for folder in sorted(root.iterdir(), key=lambda item: item.name)
            if folder.is_dir()
            for entry in sorted(folder.iterdir(), key=lambda item: item.name)
            if entry.name.endswith(".md")
        ]
    except OSError as error:
        raise KnowledgeUnavailable("the documents cannot be read") from error
