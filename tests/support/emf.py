"""CloudWatch's reading of an embedded-metric line: what it takes, and which points it makes of it.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import fastjsonschema

UNITS = ("Count", "Milliseconds", "Bytes", "Seconds", "Percent", "None")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["_aws"],
    "properties": {
        "_aws": {
            "type": "object",
            "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": {"type": "integer"},
                "CloudWatchMetrics": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["Namespace", "Dimensions", "Metrics"],
                        "properties": {
                            "Namespace": {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[A-Za-z0-9./_#: -]+$"},
                            "Dimensions": {
                                "type": "array",
                                "minItems": 1,
                                "items": {
                                    "type": "array",
                                    "minItems": 1,
                                    "maxItems": 30,
                                    "items": {"type": "string", "minLength": 1, "maxLength": 250},
                                },
                            },
                            "Metrics": {
                                "type": "array",
                                "minItems": 1,
                                "maxItems": 100,
                                "items": {
                                    "type": "object",
                                    "required": ["Name", "Unit"],
                                    "properties": {
                                        "Name": {"type": "string", "minLength": 1, "maxLength": 255},
                                        "Unit": {"enum": list(UNITS)},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        }
    },
}
"""The specification's own, with the limits of its prose. Stricter in one: a set of no dimensions is a metric that nobody asked for."""

_valid = cast(Any, fastjsonschema.compile(SCHEMA))


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one metric. `at` in milliseconds since the epoch; `dimensions` sorted by name."""

    namespace: str
    name: str
    unit: str
    dimensions: tuple[tuple[str, str], ...]
    at: int
    value: float

    def of(self, name: str) -> str | None:
        """The value of a dimension."""
        return dict(self.dimensions).get(name)


def points(line: Mapping[str, Any]) -> Iterator[Point]:
    """Raises `ValueError` where CloudWatch would take nothing, or not all of it."""
    try:
        _valid(line)
    except fastjsonschema.JsonSchemaException as exc:
        raise ValueError(f"no embedded metrics: {exc}") from exc
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = tuple(sorted((name, _dimension(line, name)) for name in names))
            for metric in directive["Metrics"]:
                for value in _values(line, metric["Name"]):
                    yield Point(directive["Namespace"], metric["Name"], metric["Unit"], dimensions, line["_aws"]["Timestamp"], value)


def _dimension(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not re.fullmatch(r"[\x20-\x7e]{1,1024}", value) or value.startswith(":"):
        raise ValueError(f"the dimension {name} has no value that CloudWatch takes: {value!r}")
    return value


def _values(line: Mapping[str, Any], name: str) -> list[float]:
    given = line.get(name)
    values: list[Any] = given if isinstance(given, list) else [given]
    if not 1 <= len(values) <= 100 or not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        raise ValueError(f"the metric {name} has no numbers: {given!r}")
    return [float(value) for value in values]


def points_of(text: str) -> list[Point]:
    """Of every embedded-metric line of an output."""
    return [point for line in embedded(text) for point in points(line)]


def embedded(text: str) -> Iterator[dict[str, Any]]:
    yield from (line for line in json_lines(text) if "_aws" in line)


def json_lines(text: str) -> Iterator[dict[str, Any]]:
    """Every line must be a JSON object. Raises `ValueError` naming the one that is not."""
    for line in text.splitlines():
        try:
            parsed = json.loads(line)
        except ValueError as exc:
            raise ValueError(f"a line of the output is no JSON: {line!r}") from exc
        if not isinstance(parsed, dict):
            raise ValueError(f"a line of the output is no object: {line!r}")
        yield parsed


def total(found: Iterable[Point], name: str, **dimensions: str) -> float:
    """The sum of a metric under exactly these dimensions."""
    wanted = tuple(sorted(dimensions.items()))
    return sum(point.value for point in found if (point.name, point.dimensions) == (name, wanted))
