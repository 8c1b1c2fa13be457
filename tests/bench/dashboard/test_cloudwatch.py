"""CloudWatch's reading of points, as far as the dashboard asks for it."""

from __future__ import annotations

import pytest

from tests.bench.dashboard.cloudwatch import PERIOD_MS, CloudWatch, Series
from tests.bench.dashboard.drawing import nice, short
from tests.support.emf import Point


def point(name: str, period: int, value: float, **dimensions: str) -> Point:
    return Point("N", name, "Count", tuple(sorted(dimensions.items())), period * PERIOD_MS + 5, value)


FOUND = CloudWatch(
    [
        *(point("Calls", 0, value, agent="a") for value in (1, 2, 3, 10)),
        point("Calls", 1, 5, agent="b"),
        point("Runs", 0, 4, agent="a", outcome="ok"),
        point("Runs", 1, 1, agent="b", outcome="bad"),
    ],
    0,
    3 * PERIOD_MS,
)
CALLS = """SEARCH('{N,agent} MetricName="Calls"', 'Sum', 300)"""
RUNS = """SEARCH('{N,agent,outcome} MetricName="Runs"%s', 'Sum', 300)"""


@pytest.mark.parametrize(
    ("statistic", "value"), [("Sum", 16), ("Average", 4), ("Maximum", 10), ("Minimum", 1), ("SampleCount", 4), ("p50", 2), ("p99", 10)]
)
def test_statistics_of_a_period(statistic: str, value: float) -> None:
    """Each is of the period's own values; a period without any has none."""
    assert FOUND.statistic(("N", "Calls", (("agent", "a"),)), statistic) == [value, None, None]


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        (CALLS, {"a": [16, None, None], "b": [None, 5, None]}),
        (f"SUM({CALLS})", {"": [16, 5, None]}),
        (RUNS % ' outcome="bad"', {"b bad": [None, 1, None]}),
        (f"SUM({CALLS}) / SUM({RUNS % ''}) / 2", {"": [2, 2.5, None]}),
        (f"""SUM({RUNS % ' outcome="never"'})""", {"": [None, None, None]}),
        ("(FILL(d0, 0) * 512 + FILL(d1, 0) * 1024) / 1024", {"": [1, 2, 0]}),
    ],
)
def test_expressions(expression: str, lines: dict[str, Series]) -> None:
    """Searches give a line a metric; sums skip what is missing, arithmetic does not, and FILL fills it."""
    assert FOUND.evaluate(expression, {"d0": [2, None, None], "d1": [None, 2, None]}) == lines


@pytest.mark.parametrize("expression", ["RATE(d0)", "SEARCH('x')", "d0 if d0 else 1"])
def test_what_is_not_known_is_refused(expression: str) -> None:
    """A widget that asks for more is no empty graph."""
    with pytest.raises((ValueError, SyntaxError)):
        FOUND.evaluate(expression, {"d0": [1, 1, 1]})


def test_numbers_at_the_side() -> None:
    """Round, and short."""
    assert [nice(value) for value in (0.7, 1, 3, 51, 1_200)] == [1, 1, 5, 100, 2_000]
    assert [short(value) for value in (0.5, 20, 1_500, 2_000_000)] == ["0.5", "20", "1.5k", "2M"]
