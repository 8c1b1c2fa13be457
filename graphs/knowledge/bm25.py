"""BM25 over words and CJK bigrams, in plain Python.

Deliberate: the usual packages stand on numpy, 30 MB more in every function's bundle, and an index of this size answers in a millisecond.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log

K1 = 1.5
B = 0.75

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_CJK_RUN = re.compile(rf"[{_CJK}]")


def index_terms(text: str) -> Iterator[str]:
    """Words in lower case; for a run of CJK characters its bigrams and its characters (so that a query of one character finds it)."""
    for run in _RUN.findall(text):
        if _CJK_RUN.match(run):
            yield from run
            yield from _bigrams(run)
        else:
            yield run.lower()


def query_terms(text: str) -> Iterator[str]:
    """As `index_terms`, with bigrams only where there are any: single characters are in nearly every text."""
    for run in _RUN.findall(text):
        if _CJK_RUN.match(run):
            yield from _bigrams(run) if len(run) > 1 else run
        else:
            yield run.lower()


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


class Bm25:
    """An index over texts, built once; `scores` answers by position in that list."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        for position, text in enumerate(texts):
            terms = Counter(index_terms(text))
            self._lengths.append(terms.total())
            for term, count in terms.items():
                self._postings[term].append((position, count))
        self._average = sum(self._lengths) / len(self._lengths) if self._lengths else 0.0

    def scores(self, query: str) -> dict[int, float]:
        """Position → score, only of texts that share a term with the query; higher is better."""
        found: dict[int, float] = defaultdict(float)
        for term in set(query_terms(query)):
            postings = self._postings.get(term, ())
            rarity = log(1 + (len(self._lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
            for position, count in postings:
                weight = K1 * (1 - B + B * self._lengths[position] / self._average)
                found[position] += rarity * count * (K1 + 1) / (count + weight)
        return dict(found)
