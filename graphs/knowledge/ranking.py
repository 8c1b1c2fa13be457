"""Several rankings of the same things as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

RRF_K = 60
"""Reciprocal rank fusion's constant, from the paper that names it (Cormack, Clarke, Büttcher, SIGIR 2009)."""


def fuse(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Best first, by the sum of 1 / (RRF_K + rank) over the rankings; equal sums in order of the numbers."""
    sums: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, thing in enumerate(ranking, 1):
            sums[thing] += 1 / (RRF_K + rank)
    return sorted(sums, key=lambda thing: (-sums[thing], thing))
