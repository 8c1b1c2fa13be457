"""The state of a thread with kb. All but the messages is of the turn at work and begins anew with each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from typing_extensions import TypedDict

from graphs.knowledge import Hit
from graphs.messages import DeltaMessagesState


class Source(TypedDict):
    """A chunk as it is kept with the thread, and shown to the client. `score`: see `graphs.knowledge.Hit`."""

    kbId: str
    docId: str
    chunkId: str
    headings: list[str]
    text: str
    link: str
    citation: str
    score: float


class KbState(DeltaMessagesState):
    rewrittenQueries: list[str]
    retrievedChunks: list[Source]
    routeRejected: bool
    citationRetries: int
    correction: str
    """What was wrong with the last draft; for the next one's prompt alone."""
    draftId: str
    """The message id under which the first draft was streamed: the answer is stored under it, so that it takes the draft's place."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A source as `graphs.knowledge.citations` reads it."""

    text: str
    link: str
    citation: str


def sources_of(hits: Iterable[Hit]) -> list[Source]:
    return [
        Source(
            kbId=hit.chunk.kb_id,
            docId=hit.chunk.doc_id,
            chunkId=hit.chunk.chunk_id,
            headings=list(hit.chunk.headings),
            text=hit.chunk.text,
            link=hit.chunk.link,
            citation=hit.chunk.citation,
            score=round(hit.score, 3),
        )
        for hit in hits
    ]


def cited(sources: Iterable[Source]) -> list[Cited]:
    return [Cited(source["text"], source["link"], source["citation"]) for source in sources]
