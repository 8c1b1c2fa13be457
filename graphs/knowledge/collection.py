"""Knowledge bases that can be changed: documents are saved as drafts, indexed, and take the place of their old version at once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from graphs.knowledge.base import CLAIM_SECONDS, Base, Entry, Status
from graphs.knowledge.chunking import Chunk, chunk_markdown
from graphs.knowledge.drafts import Draft, check_kb_id
from graphs.knowledge.embedding import embed_all
from graphs.knowledge.errors import ImportRefused, KnowledgeUnavailable
from graphs.knowledge.merging import merged, to_merge
from graphs.knowledge.reading import Reader
from graphs.knowledge.segment import Segment, indexed_text
from graphs.knowledge.shelf import PieceGone

GROUP_CHUNKS = 1_000
"""Documents are indexed and put in their places in groups of about so many chunks."""
TAKEN = "Another import of the document was begun, or it was deleted, before this one had ended."
_ATTEMPTS = 12


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a document is. `chunks` once it has some; `error` with the status of that name."""

    doc_id: str
    status: Status
    chunks: int = 0
    error: str = ""


class Collection(Reader):
    """The bases of a shelf, read and written. Writers anywhere may work at once: a base's record is changed by comparing tags."""

    def save(
        self,
        kb_id: str,
        drafts: Sequence[Draft],
        *,
        owner: str | None = None,
        readers: tuple[str, ...] | None = None,
        guard: Callable[[Base], None] | None = None,
    ) -> list[Entry]:
        """Drafts, kept but not searched yet; a document that is searched stays so as it is. A new base gets `owner` and `readers` (None:
        everybody). `guard` raises for a base that is not the caller's to change: another may have made it a moment ago.

        Raises:
            ImportRefused: a base's id that cannot be one, or the same document twice.
            DocumentBusy: an import is at work on one of them.
        """
        ids = [draft.doc_id for draft in drafts]
        if len(set(ids)) < len(ids):
            raise ImportRefused(f"Two files would be the same document: {', '.join(sorted({one for one in ids if ids.count(one) > 1}))}.")
        check_kb_id(kb_id)
        new = Base(kb_id, owner, readers) if readers else Base(kb_id, owner)
        texts = {doc_id: f"texts/{uuid4().hex}" for doc_id in ids}

        def with_drafts(base: Base) -> Base:
            if guard:
                guard(base)
            return _with_drafts(base, drafts, texts, self.clock())

        self.shelf.write_pieces(kb_id, {texts[draft.doc_id]: draft.markdown.encode() for draft in drafts})
        try:
            base = self._update(kb_id, with_drafts, new)
        except BaseException:
            self.shelf.delete_pieces(kb_id, texts.values())
            raise
        return [base.documents[doc_id] for doc_id in ids]

    async def index(self, kb_id: str, doc_ids: Sequence[str]) -> AsyncGenerator[Progress, None]:
        """Indexes the drafts of documents: begins at the first `anext`, which raises where nothing can begin.

        Raises:
            ImportRefused: there is no such document.
            DocumentBusy: another import is at work on one of them.
            KnowledgeUnavailable: the store cannot be reached.
        """
        claim = uuid4().hex
        base = await asyncio.to_thread(self._update, kb_id, lambda base: _claimed(base, doc_ids, claim, self.clock()))
        left = dict.fromkeys(doc_ids)
        try:
            async for group in self._groups(kb_id, [base.documents[doc_id] for doc_id in doc_ids]):
                for doc_id, made in group.items():
                    if not isinstance(made, Progress):
                        yield Progress(doc_id, "indexing", len(made))
                for progress in await self._place(kb_id, claim, group):
                    left.pop(progress.doc_id)
                    yield progress
        finally:
            if left:  # cancelled, or the store failed: nobody waits for a claim to end by itself
                await asyncio.shield(asyncio.to_thread(self._release, kb_id, claim, "The import broke off."))

    def delete(self, kb_id: str, doc_id: str) -> bool:
        """False if there is no such document.

        Raises:
            DocumentBusy: an import is at work on it.
        """

        def without(base: Base) -> Base:
            base.check_free([doc_id], self.clock())
            return base.without(doc_id)

        before = self.base(kb_id)
        if before is None or doc_id not in before.documents:
            return False
        self._update(kb_id, without)
        return True

    def entries(self, kb_id: str) -> list[Entry]:
        """The documents of a base, in the order of their ids."""
        base = self.base(kb_id)
        return [entry.seen(self.clock()) for _, entry in sorted(base.documents.items())] if base else []

    async def _groups(self, kb_id: str, entries: Sequence[Entry]) -> AsyncIterator[dict[str, Progress | list[Chunk]]]:
        """Documents with their chunks, or what is wrong with them."""
        group: dict[str, Progress | list[Chunk]] = {}
        count = 0
        for entry in entries:
            text = (await asyncio.to_thread(self.shelf.read_piece, kb_id, entry.text)).decode()
            chunks = chunk_markdown(text, kb_id=kb_id, doc_id=entry.doc_id)
            group[entry.doc_id] = chunks or Progress(entry.doc_id, "error", error="The document has no text that could be searched.")
            count += len(chunks)
            if count >= GROUP_CHUNKS:
                yield group
                group, count = {}, 0
        if group:
            yield group

    async def _place(self, kb_id: str, claim: str, group: dict[str, Progress | list[Chunk]]) -> list[Progress]:
        """Embeds a group and puts it in its place; what it became."""
        good = {doc_id: made for doc_id, made in group.items() if not isinstance(made, Progress)}
        chunks = [chunk for made in good.values() for chunk in made]
        texts = [indexed_text(chunk) for chunk in chunks]
        failure = ""
        vectors = None
        try:
            vectors = await embed_all(self.embedder, texts) if self.embedder and texts else None
            segment = await asyncio.to_thread(Segment.of, chunks, self.embedder.name if self.embedder else "", vectors)
        except Exception as error:  # noqa: BLE001 - whatever a provider raises: the documents tell it, and their old versions stay
            failure = f"The embedding model failed ({type(error).__name__})."
        done = [
            made
            if isinstance(made, Progress)
            else Progress(doc_id, "error", error=failure)
            if failure
            else Progress(doc_id, "completed", len(made))
            for doc_id, made in group.items()
        ]
        return await asyncio.to_thread(self._settle, kb_id, claim, done, None if failure or not chunks else segment)

    def _settle(self, kb_id: str, claim: str, done: Sequence[Progress], segment: Segment | None) -> list[Progress]:
        """The new versions take the places of the old ones, in one write; what became of each."""
        placed: dict[str, Any] = {}
        if segment:
            placed = {"segment": _segment_name(), "embedder": segment.embedder if segment.vectors else ""}
            self.shelf.write_pieces(kb_id, {placed["segment"]: segment.dump()})
        base = self._update(kb_id, lambda base: _settled(base, claim, done, placed, self.clock()))
        live = base.segments.get(placed.get("segment", ""), frozenset())
        if segment and not live:
            self.shelf.delete_pieces(kb_id, [placed["segment"]])
        self._merge(kb_id)
        return [Progress(one.doc_id, "error", error=TAKEN) if one.status == "completed" and one.doc_id not in live else one for one in done]

    def _merge(self, kb_id: str) -> None:
        """Many small segments become one. If another writer was quicker, the next one does it."""
        kept = self.shelf.read(kb_id)
        base = Base.load(kept.data) if kept else Base(kb_id)
        names = to_merge(base)
        if not names or kept is None:
            return
        try:
            segments = [(Segment.load(self.shelf.read_piece(kb_id, name)), base.segments[name]) for name in names]
        except PieceGone:
            return
        name = _segment_name()
        self.shelf.write_pieces(kb_id, {name: merged(segments).dump()})
        moved = [replace(entry, segment=name) for entry in base.documents.values() if entry.segment in names]
        if not self.shelf.write(kb_id, base.with_entries(moved).dump(), kept.tag):
            # another was quicker; or it was written, and only the answer was lost: a client that asks again is refused by its own write
            now = self.shelf.read(kb_id)
            if now is None or name not in Base.load(now.data).pieces:
                names = [name]
        self.shelf.delete_pieces(kb_id, names)

    def _release(self, kb_id: str, claim: str, reason: str) -> None:
        self._update(
            kb_id, lambda base: base.with_entries(_failed(entry, reason) for entry in base.documents.values() if entry.claim == claim)
        )

    def _update(self, kb_id: str, change: Callable[[Base], Base], new: Base | None = None) -> Base:
        """Reads, changes and writes the record until nobody else wrote in between; then drops the pieces that it names no more."""
        for attempt in range(_ATTEMPTS):
            kept = self.shelf.read(kb_id)
            before = Base.load(kept.data) if kept else new or Base(kb_id)
            after = change(before)
            if after == before and kept:
                return after
            if self.shelf.write(kb_id, after.dump(), kept.tag if kept else None):
                self.shelf.delete_pieces(kb_id, before.pieces - after.pieces)
                return after
            time.sleep(random.uniform(0, 0.02 * 2 ** min(attempt, 5)))
        raise KnowledgeUnavailable(f"the knowledge base {kb_id} is changed by too many at once")


def _segment_name() -> str:
    return f"segments/{uuid4().hex}"


def _with_drafts(base: Base, drafts: Iterable[Draft], texts: Mapping[str, str], now: float) -> Base:
    base.check_free(texts, now)
    made = []
    for draft in drafts:
        old = base.documents.get(draft.doc_id) or Entry(draft.doc_id, "", "draft", now)
        text, size = texts[draft.doc_id], len(draft.markdown)
        made.append(replace(old, title=draft.title, text=text, characters=size, updated_at=now, status="draft", claim="", error=""))
    return base.with_entries(made)


def _claimed(base: Base, doc_ids: Sequence[str], claim: str, now: float) -> Base:
    if missing := [doc_id for doc_id in doc_ids if doc_id not in base.documents]:
        raise ImportRefused(f"There is no document {', '.join(missing)}.")
    base.check_free(doc_ids, now, claim)  # its own: a write whose answer was lost is tried again
    until = now + CLAIM_SECONDS
    return base.with_entries(replace(base.documents[one], status="indexing", claim=claim, until=until, error="") for one in doc_ids)


def _settled(base: Base, claim: str, done: Iterable[Progress], placed: Mapping[str, Any], now: float) -> Base:
    """What lost its claim meanwhile, to another import or to a deletion, stays as that left it."""
    made = []
    for progress in done:
        entry = base.documents.get(progress.doc_id)
        if entry is None or entry.claim != claim:
            continue
        good = replace(entry, status="completed", chunks=progress.chunks, updated_at=now, claim="", until=0.0, **placed)
        made.append(good if progress.status == "completed" else _failed(entry, progress.error))
    return base.with_entries(made)


def _failed(entry: Entry, reason: str) -> Entry:
    return replace(entry, status="error", error=reason, claim="", until=0.0)
