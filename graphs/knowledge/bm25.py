"""BM25 over words and CJK bigrams, in plain Python.

Deliberate: the usual packages stand on numpy, 30 MB more in every function's bundle, and an index of this size answers in milliseconds.
What is indexed once is kept as a few flat arrays: they are stored and loaded as they are, and take 4 bytes for a term in a text.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import log
from typing import NamedTuple

from graphs.knowledge.words import index_terms, query_terms

K1 = 1.5
B = 0.75
LEAST_TEXTS = 50
"""In a collection of a few texts every word of theirs looks common: its share of a query is weighed as if there were so many."""

_COUNT_BITS = 8
_MOST = (1 << _COUNT_BITS) - 1


class Match(NamedTuple):
    """`score`: BM25, higher is better, comparable within one query only. `coverage`: 0..1, the share of the query, each term weighed by
    its rarity, that the text holds: comparable between queries, and near 0 where the query speaks of something else."""

    score: float
    coverage: float


class Postings:
    """Which of some texts hold which term, and how often. `packed` has for each term its texts as `position << 8 | count`."""

    def __init__(self, terms: Sequence[str], starts: array[int], packed: array[int], lengths: array[int]) -> None:
        self.terms, self.starts, self.packed, self.lengths = terms, starts, packed, lengths
        self._rows = dict(zip(terms, range(len(terms)), strict=True))

    @classmethod
    def of(cls, texts: Sequence[str]) -> Postings:
        found: defaultdict[str, list[int]] = defaultdict(list)
        lengths = array("I")
        for position, text in enumerate(texts):
            counts = Counter(index_terms(text))
            lengths.append(counts.total())
            for term, count in counts.items():
                found[term].append(position << _COUNT_BITS | min(count, _MOST))
        packed = array("I", (entry for entries in found.values() for entry in entries))
        return cls(list(found), array("I", accumulate(map(len, found.values()), initial=0)), packed, lengths)

    def entries(self, term: str) -> array[int]:
        row = self._rows.get(term)
        return array("I") if row is None else self.packed[self.starts[row] : self.starts[row + 1]]


class Bm25:
    """Searches several postings as one: positions go on from one to the next."""

    def __init__(self, parts: Sequence[Postings]) -> None:
        self._parts = parts
        self._offsets = list(accumulate((len(part.lengths) for part in parts), initial=0))
        self._texts = self._offsets[-1]
        self._average = sum(sum(part.lengths) for part in parts) / self._texts if self._texts else 0.0

    def matches(self, query: str) -> dict[int, Match]:
        """Position → match, only of texts that share a term with the query."""
        found: dict[int, tuple[float, float]] = {}
        whole = 0.0
        for term in set(query_terms(query)):
            entries = [part.entries(term) for part in self._parts]
            held = sum(map(len, entries))
            rarity = log(1 + (self._texts - held + 0.5) / (held + 0.5))
            share = log(1 + (max(self._texts, LEAST_TEXTS) - held + 0.5) / (held + 0.5))
            whole += share
            for position, count, length in self._each(entries):
                weight = K1 * (1 - B + B * length / self._average)
                score, covered = found.get(position, (0.0, 0.0))
                found[position] = score + rarity * count * (K1 + 1) / (count + weight), covered + share
        return {position: Match(score, covered / whole) for position, (score, covered) in found.items()}

    def _each(self, entries: Sequence[array[int]]) -> Iterator[tuple[int, int, int]]:
        """(position, count, length of the text)."""
        for part, offset, packed in zip(self._parts, self._offsets, entries, strict=False):
            for entry in packed:
                local = entry >> _COUNT_BITS
                yield offset + local, entry & _MOST, part.lengths[local]
