"""The little of CloudWatch that the dashboard asks for: statistics of a period, `SEARCH`, `SUM`, `FILL` and arithmetic over them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.support.emf import Point

PERIOD_MS = 300_000
Series = list[float | None]
"""A value a period, None where nothing was reported."""
Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name, dimensions."""
_SEARCH = re.compile(r"SEARCH\('\{([^}]*)\} (.*?)', '(\w+)', (\d+)\)")
_TERM = re.compile(r'(\w+)="([^"]*)"')
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "Sum": sum,
    "Average": lambda values: sum(values) / len(values),
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
}


class CloudWatch:
    """Points of one day, from `start` on, in milliseconds."""

    def __init__(self, points: Iterable[Point], start: int, length: int) -> None:
        self._periods = length // PERIOD_MS
        self._values: dict[Key, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for point in points:
            period = (point.at - start) // PERIOD_MS
            if 0 <= period < self._periods:
                self._values[(point.namespace, point.name, point.dimensions)][period].append(point.value)

    def statistic(self, key: Key, statistic: str) -> Series:
        found = self._values.get(key, {})
        return [_statistic(found[period], statistic) if period in found else None for period in range(self._periods)]

    def search(self, expression: str) -> dict[str, Series]:
        """`SEARCH('{namespace,dimension,…} MetricName="…" dimension="…"', 'Sum', 300)` → label → series, as CloudWatch names them."""
        match = _SEARCH.fullmatch(expression)
        if match is None:
            raise ValueError(f"not a search that is known here: {expression}")
        quoted, *wanted = match[1].split(",")
        namespace = quoted.strip('"')
        terms = dict(_TERM.findall(match[2]))
        name = terms.pop("MetricName")
        keys = [
            key
            for key in self._values
            if key[:2] == (namespace, name) and {d for d, _ in key[2]} == set(wanted) and terms.items() <= dict(key[2]).items()
        ]
        return {" ".join(value for _, value in key[2]): self.statistic(key, match[3]) for key in sorted(keys)}

    def evaluate(self, expression: str, named: Mapping[str, Series]) -> dict[str, Series]:
        """A math expression → its lines; one without a name, unless it is a search."""
        if _SEARCH.fullmatch(expression):
            return self.search(expression)
        searches: dict[str, list[Series]] = {}

        def put_aside(match: re.Match[str]) -> str:
            searches[f"search{len(searches)}"] = list(self.search(match[0]).values())
            return f"search{len(searches) - 1}"

        tree = ast.parse(_SEARCH.sub(put_aside, expression), mode="eval")
        return {"": self._series(tree.body, {**named, **searches})}

    def _series(self, node: ast.expr, known: Mapping[str, Any]) -> Series:
        match node:
            case ast.Constant(value=int() | float() as number):
                return [float(number)] * self._periods
            case ast.Name(id=name):
                return list(known[name])
            case ast.BinOp(left=left, op=how, right=right):
                pairs = zip(self._series(left, known), self._series(right, known), strict=True)
                return [_apply(_OPERATORS[type(how)], a, b) for a, b in pairs]
            case ast.Call(func=ast.Name(id="SUM"), args=[ast.Name(id=name)]):
                rows = known[name] or [[None] * self._periods]
                return [_sum(values) for values in zip(*rows, strict=True)]
            case ast.Call(func=ast.Name(id="FILL"), args=[series, ast.Constant(value=int() | float() as filled)]):
                return [float(filled) if value is None else value for value in self._series(series, known)]
        raise ValueError(f"not an expression that is known here: {ast.unparse(node)}")


def _apply(how: Callable[[float, float], float], a: float | None, b: float | None) -> float | None:
    if a is None or b is None or (how is operator.truediv and b == 0):
        return None
    return how(a, b)


def _sum(values: Iterable[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) if given else None


def _statistic(values: list[float], statistic: str) -> float:
    if statistic.startswith("p"):
        ordered = sorted(values)
        return ordered[max(0, math.ceil(float(statistic[1:]) / 100 * len(ordered)) - 1)]
    return _STATISTICS[statistic](values)
