"""A segment: some documents' chunks with their indexes, made once and never changed. As bytes it is a zip archive of a few flat arrays,
so that loading it is reading, not indexing."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphs.knowledge.bm25 import Postings
from graphs.knowledge.chunking import Chunk
from graphs.knowledge.dense import Vectors

_DENSE = frozenset({"numbers", "signs", "norms"})
"""Parts that no compression makes smaller."""


@dataclass(frozen=True)
class Segment:
    """`vectors` are those of the model `embedder`, one a chunk; None where none was configured."""

    chunks: Sequence[Chunk]
    postings: Postings
    embedder: str = ""
    vectors: Vectors | None = None

    @classmethod
    def of(cls, chunks: Sequence[Chunk], embedder: str = "", vectors: Sequence[Sequence[float]] | None = None) -> Segment:
        postings = Postings.of([indexed_text(chunk) for chunk in chunks])
        return cls(chunks, postings, embedder, None if vectors is None else Vectors.of(vectors))

    @cached_property
    def positions(self) -> dict[tuple[str, str], int]:
        """(document, chunk) → position."""
        return {(chunk.doc_id, chunk.chunk_id): position for position, chunk in enumerate(self.chunks)}

    def dump(self) -> bytes:
        postings, vectors = self.postings, self.vectors
        head = {"embedder": self.embedder, "dimension": vectors.dimension if vectors else None}
        parts: dict[str, bytes] = {
            "head.json": _json(head),
            "chunks.json": _json([[c.kb_id, c.doc_id, c.chunk_id, c.headings, c.text, c.page] for c in self.chunks]),
            "terms.txt": "\n".join(postings.terms).encode(),
            "starts": _bytes(postings.starts),
            "packed": _bytes(postings.packed),
            "lengths": _bytes(postings.lengths),
        }
        if vectors:
            parts |= {"numbers": vectors.numbers.tobytes(), "signs": vectors.signs, "norms": _bytes(vectors.lengths)}
        return _zipped(parts)

    @classmethod
    def load(cls, data: bytes) -> Segment:
        """Raises `ValueError`, `KeyError` or `zipfile.BadZipFile` for what `dump` did not make."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        head = json.loads(parts["head.json"])
        chunks = [
            Chunk(kb, doc, id_, tuple(headings), text, page) for kb, doc, id_, headings, text, page in json.loads(parts["chunks.json"])
        ]
        terms = parts["terms.txt"].decode().split("\n") if parts["terms.txt"] else []
        postings = Postings(terms, _array(parts["starts"]), _array(parts["packed"]), _array(parts["lengths"]))
        dimension = head["dimension"]
        vectors = None if dimension is None else _vectors(dimension, parts)
        return cls(chunks, postings, head["embedder"], vectors)


def indexed_text(chunk: Chunk) -> str:
    """What is searched of a chunk: the headings it stands under, and its text."""
    return f"{' '.join(chunk.headings)}\n{chunk.text}"


def _vectors(dimension: int, parts: dict[str, bytes]) -> Vectors:
    return Vectors(dimension, array("b", parts["numbers"]), parts["signs"], _array(parts["norms"], "f"))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _bytes(numbers: array[Any]) -> bytes:
    """Little-endian, whatever the machine."""
    return numbers.tobytes() if sys.byteorder == "little" else _swapped(numbers).tobytes()


def _array(data: bytes, kind: str = "I") -> array[Any]:
    numbers: array[Any] = array(kind, data)
    return numbers if sys.byteorder == "little" else _swapped(numbers)


def _swapped(numbers: array[Any]) -> array[Any]:
    copy = numbers[:]
    copy.byteswap()
    return copy


def _zipped(parts: dict[str, bytes]) -> bytes:
    """The same bytes for the same parts: no time of day in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in parts.items():
            kind = zipfile.ZIP_STORED if name in _DENSE else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), data, kind, compresslevel=6)
    return buffer.getvalue()
