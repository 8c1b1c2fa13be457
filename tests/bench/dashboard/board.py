"""The dashboard as it is synthesised: its widgets, where they are, and what each asks CloudWatch for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench.dashboard.cloudwatch import CloudWatch, Series


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    series: Series
    right: bool = False


@dataclass(frozen=True, slots=True)
class Widget:
    """`x`, `y`, `width`, `height` in CloudWatch's grid of 24 columns. `asks`: its metrics, as the dashboard's JSON has them."""

    title: str
    x: int
    y: int
    width: int
    height: int
    stacked: bool
    asks: list[list[Any]]

    def lines(self, cloudwatch: CloudWatch) -> list[Line]:
        """What it shows; a metric that an expression alone needs is none of it."""
        named: dict[str, Series] = {}
        expressions: list[Mapping[str, Any]] = []
        shown: list[Line] = []
        for row in _whole(self.asks):
            options: Mapping[str, Any] = row[-1] if isinstance(row[-1], dict) else {}
            if "expression" in options:
                expressions.append(options)
                continue
            path = row[:-1] if options else row
            namespace, name, *dimensions = path
            key = (namespace, name, tuple(sorted(zip(dimensions[::2], dimensions[1::2], strict=True))))
            series = cloudwatch.statistic(key, options.get("stat", "Average"))
            if "id" in options:
                named[options["id"]] = series
            if options.get("visible", True):
                label = options.get("label") or " ".join([name, *([options["stat"]] if options.get("stat", "Sum") != "Sum" else [])])
                shown.append(Line(label, series, options.get("yAxis") == "right"))
        for asked in expressions:
            for label, series in cloudwatch.evaluate(asked["expression"], named).items():
                shown.append(Line(label or str(asked.get("label", "")), series, asked.get("yAxis") == "right"))
        return shown


def _whole(rows: list[list[Any]]) -> Iterator[list[Any]]:
    """CloudWatch's short form written out: `.` is what stood there in the row before."""
    before: list[Any] = []
    for row in rows:
        whole = [before[place] if part == "." else part for place, part in enumerate(row)]
        before = whole
        yield whole


def widgets(template: Mapping[str, Any]) -> list[Widget]:
    """Of the one dashboard of a CloudFormation template. References become logical ids: nothing is deployed."""
    (board,) = (r for r in template["Resources"].values() if r["Type"] == "AWS::CloudWatch::Dashboard")
    body = json.loads(_text(board["Properties"]["DashboardBody"]))
    return [_widget(w) for w in body["widgets"]]


def _widget(found: Mapping[str, Any]) -> Widget:
    properties = found["properties"]
    place = (found["x"], found["y"], found["width"], found["height"])
    return Widget(properties["title"], *place, properties.get("stacked", False), properties["metrics"])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator).join(_text(part) for part in parts)
    ((_, named),) = value.items()
    return str(named if isinstance(named, str) else named[0])


def lambda_dimensions(template: Mapping[str, Any]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Agent → the dimensions under which Lambda reports its alias."""
    found = {}
    for widget in widgets(template):
        agent, _, what = widget.title.partition(": ")
        if what == "runs":
            dimensions = next(_whole(widget.asks))[2:-1]
            found[agent] = tuple(sorted(zip(dimensions[::2], dimensions[1::2], strict=True)))
    return found
