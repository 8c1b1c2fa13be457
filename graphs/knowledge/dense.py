"""Vectors of texts, searched by cosine in plain Python.

Each is kept as 8-bit whole numbers and as the signs of its numbers, one bit each. A search first counts equal signs (an XOR of two big
integers), then takes the cosine of the most promising: of 10,000 vectors a few hundred are multiplied.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from math import sqrt
from operator import mul

if sys.version_info >= (3, 12):
    from math import sumprod
else:

    def sumprod(p: Iterable[float], q: Iterable[float], /) -> float:
        total: float = sum(map(mul, p, q))
        return total


EXACT_UP_TO = 300
"""So many vectors are all multiplied."""
PROMISING = 10
"""So many times as many as are asked for are multiplied of more."""
_LEAST = 200


class Vectors:
    """One vector a text, all of `dimension` numbers; a vector of zeros is a text without one. `lengths`: Euclid's, of the numbers."""

    def __init__(self, dimension: int, numbers: array[int], signs: bytes, lengths: array[float]) -> None:
        self.dimension, self.numbers, self.signs, self.lengths = dimension, numbers, signs, lengths
        width = _width(dimension)
        self._signs = [int.from_bytes(signs[start : start + width], "little") for start in range(0, len(signs), width)]

    @classmethod
    def of(cls, vectors: Sequence[Sequence[float]]) -> Vectors:
        """Raises `ValueError` if they have not all the same length."""
        dimension = len(vectors[0]) if vectors else 0
        if any(len(vector) != dimension for vector in vectors):
            raise ValueError("the embedding model gave vectors of different lengths")
        small = [_quantized(vector) for vector in vectors]
        signs = b"".join(_signs(vector).to_bytes(_width(dimension), "little") for vector in small)
        lengths = array("f", (sqrt(sumprod(vector, vector)) for vector in small))
        return cls(dimension, array("b", (number for vector in small for number in vector)), signs, lengths)

    def __len__(self) -> int:
        return len(self._signs)

    def signs_of(self, position: int) -> bytes:
        width = _width(self.dimension)
        return self.signs[position * width : (position + 1) * width]

    def nearest(self, query: Sequence[float], count: int) -> list[tuple[int, float]]:
        """(position, cosine) of the nearest, best first; none of the opposite side."""
        if len(query) != self.dimension:
            raise ValueError(f"a query of {len(query)} numbers for vectors of {self.dimension}")
        length = sqrt(sumprod(query, query))
        scored = [(self._cosine(query, length, position), position) for position in self._promising(query, count)]
        best = nsmallest(count, ((-cosine, position) for cosine, position in scored if cosine > 0))
        return [(position, -negative) for negative, position in best]

    def _promising(self, query: Sequence[float], count: int) -> Sequence[int]:
        everything = range(len(self._signs))
        if len(everything) <= EXACT_UP_TO:
            return everything
        asked = _signs(query)
        differing = [(signs ^ asked).bit_count() for signs in self._signs]
        return nsmallest(max(_LEAST, PROMISING * count), everything, key=differing.__getitem__)

    def _cosine(self, query: Sequence[float], length: float, position: int) -> float:
        vector = self.numbers[position * self.dimension : (position + 1) * self.dimension]
        lengths = self.lengths[position] * length
        return sumprod(query, vector) / lengths if lengths else 0.0


def _width(dimension: int) -> int:
    """Bytes of one vector's signs; at least one, so that they can be counted."""
    return max(1, (dimension + 7) // 8)


def _quantized(vector: Sequence[float]) -> list[int]:
    largest = max(map(abs, vector), default=0.0)
    return [round(number / largest * 127) for number in vector] if largest else [0] * len(vector)


def _signs(vector: Sequence[float]) -> int:
    return int("".join("1" if number > 0 else "0" for number in vector) or "0", 2)
