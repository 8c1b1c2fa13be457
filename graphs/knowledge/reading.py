"""Knowledge bases of a shelf as searchable knowledge: loaded once, and again in part when their record has changed."""

from __future__ import annotations

import asyncio
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from graphs.knowledge.base import EVERYBODY, Base
from graphs.knowledge.chunking import Chunk
from graphs.knowledge.embedding import Embedder
from graphs.knowledge.errors import KnowledgeUnavailable
from graphs.knowledge.library import Knowledge
from graphs.knowledge.segment import Segment
from graphs.knowledge.shelf import PieceGone, Shelf

LISTED_SECONDS = 10.0
"""A base that nobody named is found by a search over all of them after so long; a changed one at once."""
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Loaded:
    """A base with its segments, as of the record with this tag."""

    tag: str
    base: Base
    segments: dict[str, Segment]

    @property
    def parts(self) -> list[tuple[Segment, frozenset[str]]]:
        return [(self.segments[name], live) for name, live in self.base.segments.items()]


class Reader:
    """A `KnowledgeSource` over a shelf and the samples, which are always there. Shared by threads; searches wait for one load only."""

    def __init__(
        self,
        shelf: Shelf,
        samples: Knowledge | None = None,
        embedder: Embedder | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.shelf, self.samples, self.embedder, self.clock = shelf, samples or Knowledge(), embedder, clock
        self._loaded: dict[str, Loaded] = {}
        self._made: dict[str | None, tuple[tuple[str, ...], Knowledge]] = {}
        self._listed: tuple[float, list[str]] = (float("-inf"), [])
        self._lock = threading.Lock()

    async def current(self, kb_id: str | None) -> Knowledge:
        """A base and the samples of its id, or None: the samples and every base that everybody may read. Whether the caller may read the
        base that it names is the business of whoever takes the name from it."""
        return await asyncio.to_thread(self._current, kb_id)

    def base(self, kb_id: str) -> Base | None:
        """Its record as it is now."""
        with self._lock:
            loaded = self._load(kb_id, lambda base: False)
        return loaded.base if loaded else None

    async def chunk(self, doc_id: str, chunk_id: str) -> Chunk | None:
        """What a link points at: a document's id begins with that of its base, but for the samples'."""
        kb_id, slash, _ = doc_id.partition("/")
        knowledge = await self.current(kb_id) if slash else self.samples
        return knowledge.chunk(doc_id, chunk_id)

    def _current(self, kb_id: str | None) -> Knowledge:
        with self._lock:
            names = self._names() if kb_id is None else [kb_id]

            def searched(base: Base) -> bool:
                return kb_id is not None or EVERYBODY in base.readers

            found = [loaded for name in names if (loaded := self._load(name, searched)) and searched(loaded.base)]
            return self._combined(kb_id, found)

    def _names(self) -> list[str]:
        now = self.clock()
        if now - self._listed[0] > LISTED_SECONDS:
            self._listed = now, self.shelf.bases()
        return self._listed[1]

    def _combined(self, kb_id: str | None, found: list[Loaded]) -> Knowledge:
        with_samples = kb_id is None or kb_id in self.samples.kb_ids
        if with_samples and not found:
            return self.samples
        tags = tuple(loaded.tag for loaded in found)
        made = self._made.get(kb_id)
        if made is None or made[0] != tags:
            parts = [*(self.samples.parts if with_samples else ()), *(part for loaded in found for part in loaded.parts)]
            made = self._made[kb_id] = tags, Knowledge.of(parts, self.embedder)
        return made[1]

    def _load(self, kb_id: str, searched: Callable[[Base], bool]) -> Loaded | None:
        """Its record, and its segments where it is to be searched: others' take time and memory."""
        for _ in range(_ATTEMPTS):
            known = self._loaded.get(kb_id)
            if (
                known
                and not self.shelf.changed(kb_id, known.tag)
                and (not searched(known.base) or len(known.segments) == len(known.base.segments))
            ):
                return known
            kept = self.shelf.read(kb_id)
            if kept is None:
                self._loaded.pop(kb_id, None)
                return None
            try:
                base = Base.load(kept.data)
                have = known.segments if known else {}
                wanted = {name: have.get(name) for name in base.segments if name in have or searched(base)}
                fresh = {name: segment or Segment.load(self.shelf.read_piece(kb_id, name)) for name, segment in wanted.items()}
            except PieceGone:
                continue  # an import has ended meanwhile: the record names another segment by now
            except (ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error) as error:
                raise KnowledgeUnavailable(f"the knowledge base {kb_id} cannot be read by this version") from error
            loaded = self._loaded[kb_id] = Loaded(kept.tag, base, fresh)
            return loaded
        raise KnowledgeUnavailable(f"the knowledge base {kb_id} changes faster than it can be read")
