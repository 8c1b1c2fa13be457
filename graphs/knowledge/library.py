"""The documents and their index."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Protocol

from graphs.knowledge.bm25 import Bm25, Match
from graphs.knowledge.chunking import Chunk, chunk_markdown
from graphs.knowledge.embedding import Embedder
from graphs.knowledge.errors import KnowledgeUnavailable
from graphs.knowledge.ranking import fuse
from graphs.knowledge.segment import Segment
from graphs.knowledge.words import without_stop_words

TOP_K = 5
RECALL = 20
"""So many of each way of searching are fused."""


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown text under its id in one knowledge base."""

    kb_id: str
    doc_id: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found. `score`: 0..1, how much it has to do with the query: the larger of the share of the query's words that it
    holds (`bm25.Match.coverage`) and the cosine of their vectors. A rank fusion's own sum says nothing of that: it is the same for the best
    of a bad lot."""

    chunk: Chunk
    score: float


class KnowledgeSource(Protocol):
    """Where an agent gets its knowledge from, for each search anew: documents come and go while it runs."""

    async def current(self, kb_id: str | None) -> Knowledge:
        """One knowledge base as it is now, or None: all that anybody may read. Raises `KnowledgeUnavailable`."""
        ...


class Knowledge:
    """A searchable set of documents, held in memory and never changed. It is its own source."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        chunks = [chunk for doc in documents for chunk in chunk_markdown(doc.markdown, kb_id=doc.kb_id, doc_id=doc.doc_id)]
        self._fill([(Segment.of(chunks), None)], None)

    @classmethod
    def of(cls, parts: Sequence[tuple[Segment, Container[str] | None]], embedder: Embedder | None = None) -> Knowledge:
        """Of segments, each with the ids of its documents that count (None: all). `embedder` embeds queries: segments with vectors of
        another model are searched by words alone."""
        made = cls.__new__(cls)
        made._fill(parts, embedder)
        return made

    def _fill(self, parts: Sequence[tuple[Segment, Container[str] | None]], embedder: Embedder | None) -> None:
        self.parts, self._embedder = parts, embedder
        self._chunks = [chunk if live is None or chunk.doc_id in live else None for segment, live in parts for chunk in segment.chunks]
        self._words = Bm25([segment.postings for segment, _ in parts])

    async def current(self, kb_id: str | None) -> Knowledge:
        """Itself."""
        return self

    @property
    def kb_ids(self) -> frozenset[str]:
        """The knowledge bases there are: what a client may name."""
        return frozenset(chunk.kb_id for chunk in self._chunks if chunk)

    def search(self, query: str, kb_id: str | None = None, *, limit: int = TOP_K) -> list[Chunk]:
        """The best chunks by their words alone, best first; of one knowledge base, or of all when `kb_id` is None. An unknown `kb_id`
        finds nothing."""
        matches = self._matches(query, kb_id)
        return [chunk for position in _best(matches, limit) if (chunk := self._chunks[position])]

    async def retrieve(self, query: str, kb_id: str | None = None, *, recall: int = RECALL, limit: int = TOP_K) -> list[Hit]:
        """The best chunks, best first: the `recall` best by words and by vectors, fused by their ranks.

        Raises `KnowledgeUnavailable` when the embedding model cannot be reached.
        """
        matches, near = await asyncio.gather(asyncio.to_thread(self._matches, query, kb_id), self._nearest(query, kb_id, recall))
        fused = fuse([_best(matches, recall), list(near)])[:limit]
        nothing = Match(0.0, 0.0)
        scores = [max(matches.get(position, nothing).coverage, near.get(position, 0.0)) for position in fused]
        return [Hit(chunk, score) for position, score in zip(fused, scores, strict=True) if (chunk := self._chunks[position])]

    def chunk(self, doc_id: str, chunk_id: str) -> Chunk | None:
        """The chunk a link points at."""
        start = 0
        for segment, _ in self.parts:
            position = segment.positions.get((doc_id, chunk_id))
            if position is not None and (chunk := self._chunks[start + position]):
                return chunk
            start += len(segment.chunks)
        return None

    def _matches(self, query: str, kb_id: str | None) -> dict[int, Match]:
        matches = self._words.matches(without_stop_words(query))
        return {position: match for position, match in matches.items() if self._counts(position, kb_id)}

    def _counts(self, position: int, kb_id: str | None) -> bool:
        chunk = self._chunks[position]
        return chunk is not None and kb_id in (None, chunk.kb_id)

    async def _nearest(self, query: str, kb_id: str | None, recall: int) -> dict[int, float]:
        """Position → cosine of the nearest vectors, best first."""
        embedder = self._embedder
        if embedder is None or not any(self._comparable(segment) for segment, _ in self.parts):
            return {}
        try:
            asked = await embedder.model.aembed_query(query)
        except Exception as error:
            raise KnowledgeUnavailable(f"the embedding model {embedder.name} did not answer") from error
        found = await asyncio.to_thread(self._near, asked, kb_id, recall)
        return dict(nsmallest(recall, found, key=lambda one: (-one[1], one[0])))

    def _near(self, asked: Sequence[float], kb_id: str | None, recall: int) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        start = 0
        for segment, _ in self.parts:
            here = range(start, start + len(segment.chunks))
            start = here.stop
            if segment.vectors is not None and self._comparable(segment):
                hidden = sum(chunk is None or kb_id not in (None, chunk.kb_id) for chunk in self._chunks[here.start : here.stop])
                near = segment.vectors.nearest(asked, recall + hidden) if hidden < len(here) else []
                found += [(here.start + place, cosine) for place, cosine in near if self._counts(here.start + place, kb_id)]
        return found

    def _comparable(self, segment: Segment) -> bool:
        return bool(self._embedder and segment.vectors and segment.embedder == self._embedder.name)


def _best(matches: dict[int, Match], count: int) -> list[int]:
    return nsmallest(count, matches, key=lambda position: (-matches[position].score, position))


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
