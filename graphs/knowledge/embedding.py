"""The embedding model of a knowledge base, and one that needs no key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import sqrt

from langchain_core.embeddings import Embeddings

from graphs.knowledge.words import index_terms, without_stop_words

HASHING = "hashing"
DIMENSION = 384
BATCH = 64
"""Texts of one call to a model."""


@dataclass(frozen=True, slots=True)
class Embedder:
    """A model under the name that its vectors are kept with: vectors of another name are not compared with its own."""

    name: str
    model: Embeddings


class HashingEmbeddings(Embeddings):
    """Counts words and CJK bigrams, but the commonest, in `DIMENSION` hashed places, by signs that cancel collisions out; unit length.

    It proves that the dense way works, and not its quality: it knows no synonym and no other language.
    """

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        places = [0.0] * DIMENSION
        for term in index_terms(without_stop_words(text)):
            if len(term) > 1:  # a single character says little, and there are many
                place, sign = _place(term)
                places[place] += sign
        length = sqrt(sum(number * number for number in places))
        return [number / length for number in places] if length else places


@lru_cache(maxsize=65_536)
def _place(term: str) -> tuple[int, int]:
    digest = int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")
    return (digest >> 1) % DIMENSION, 1 if digest & 1 else -1


def hashing_embedder() -> Embedder:
    return Embedder(f"{HASHING}-{DIMENSION}", HashingEmbeddings())


async def embed_all(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """In batches. Raises what the model raises."""
    vectors: list[list[float]] = []
    for start in range(0, len(texts), BATCH):
        vectors += await embedder.model.aembed_documents(list(texts[start : start + BATCH]))
    return vectors
