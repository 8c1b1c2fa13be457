"""Many small segments into one: a search looks into each, and an import makes one."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from graphs.knowledge.base import Base
from graphs.knowledge.bm25 import Postings
from graphs.knowledge.dense import Vectors
from graphs.knowledge.segment import Segment, indexed_text

MOST_SEGMENTS = 12
AT_ONCE = 8
"""The smallest are merged, so a chunk is moved a few times in its life and not at every import."""


def to_merge(base: Base) -> list[str]:
    """The smallest segments of a base that has too many, all of one embedding model."""
    if len(base.segments) <= MOST_SEGMENTS:
        return []
    sizes: Counter[str] = Counter()
    models: dict[str, str] = {}
    for entry in base.documents.values():
        sizes[entry.segment] += entry.chunks
        models[entry.segment] = entry.embedder
    model, _ = Counter(models[name] for name in base.segments).most_common(1)[0]
    return sorted((name for name in base.segments if models[name] == model), key=lambda name: (sizes[name], name))[:AT_ONCE]


def merged(segments: Sequence[tuple[Segment, frozenset[str]]]) -> Segment:
    """One segment of the documents that count."""
    kept = [(segment, [place for place, chunk in enumerate(segment.chunks) if chunk.doc_id in live]) for segment, live in segments]
    chunks = [segment.chunks[place] for segment, places in kept for place in places]
    first = segments[0][0]
    vectors = None if first.vectors is None else _joined(first.vectors.dimension, kept)
    return Segment(chunks, Postings.of([indexed_text(chunk) for chunk in chunks]), first.embedder, vectors)


def _joined(dimension: int, kept: Sequence[tuple[Segment, list[int]]]) -> Vectors:
    numbers, signs, lengths = array("b"), bytearray(), array("f")
    for segment, places in kept:
        vectors = segment.vectors
        assert vectors is not None
        assert vectors.dimension == dimension
        for place in places:
            numbers.extend(vectors.numbers[place * dimension : (place + 1) * dimension])
            signs += vectors.signs_of(place)
            lengths.append(vectors.lengths[place])
    return Vectors(dimension, numbers, bytes(signs), lengths)
