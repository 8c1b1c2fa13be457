"""Widgets with their lines → one SVG. Light and dark by the reader's own setting, as `tests.bench.plot` has it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tests.bench.dashboard.board import Line, Widget
from tests.bench.dashboard.cloudwatch import Series

COLUMN, UNIT, TOP, GAP = 50, 27, 46, 10
HEAD, FOOT, SIDE = 24, 34, 40
"""Of a widget, in pixels: title, hours and legend, numbers at its sides."""
COLORS = ("#0969da", "#bf8700", "#8250df", "#1a7f37", "#cf222e", "#6e7781", "#bf3989", "#0a7d91")
NOTHING = "AWS reports this one itself; it is not simulated"
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#1f2328}.head{font-size:15px;font-weight:600}.title{font-weight:600}.note{fill:#59636e}"
    ".box{fill:none;stroke:#d1d9e0}.grid{stroke:#d1d9e0;stroke-dasharray:2 3}.line{fill:none;stroke-width:1.3}.right{stroke-dasharray:4 2}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.box,.grid{stroke:#3d444d}}"
)


def svg(drawn: Sequence[tuple[Widget, Sequence[Line]]], title: str, caption: Sequence[str]) -> str:
    """The dashboard. `caption` says, in lines, what is real and what is not."""
    width = 24 * COLUMN
    height = TOP + max(w.y + w.height for w, _ in drawn) * UNIT + 18 * len(caption) + 8
    parts = [f'<text class="head" x="2" y="24">{escape(title)}</text>']
    for widget, lines in drawn:
        parts += _widget(widget, lines)
    for number, text in enumerate(caption):
        parts.append(f'<text class="note" x="2" y="{height - 18 * (len(caption) - number) + 8}">{escape(text)}</text>')
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"


def _widget(widget: Widget, lines: Sequence[Line]) -> Iterator[str]:
    x, y = widget.x * COLUMN, TOP + widget.y * UNIT
    width, height = widget.width * COLUMN - GAP, widget.height * UNIT - GAP
    yield f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'
    yield f'<text class="title" x="{x + 8}" y="{y + 16}">{escape(widget.title)}</text>'
    seen = [line for line in lines if any(value is not None for value in line.series)]
    if not seen:
        yield f'<text class="note" x="{x + 8}" y="{y + height / 2:.0f}">{escape(NOTHING)}</text>'
        return
    area = (x + SIDE, y + HEAD, width - 2 * SIDE, height - HEAD - FOOT)
    yield from _hours(area)
    for right in (False, True):
        side = [(number, line) for number, line in enumerate(seen) if line.right is right]
        if side:
            yield from _side(area, side, stacked=widget.stacked, right=right)
    yield from _legend(x + 8, y + height - 7, width, seen)


def _hours(area: tuple[int, int, int, int]) -> Iterator[str]:
    x, y, width, height = area
    for hour in range(0, 25, 6):
        at = x + width * hour / 24
        yield f'<path class="grid" d="M{at:.0f} {y}v{height}"/>'
        yield f'<text class="note" x="{at:.0f}" y="{y + height + 12}" text-anchor="middle">{hour:02d}:00</text>'


def _side(area: tuple[int, int, int, int], side: Sequence[tuple[int, Line]], *, stacked: bool, right: bool) -> Iterator[str]:
    x, y, width, height = area
    rows = _stacked([line.series for _, line in side]) if stacked else [line.series for _, line in side]
    top = nice(max((value for row in rows for value in row if value is not None), default=0) or 1)
    at, anchor = (x + width + 4, "start") if right else (x - 4, "end")
    for share in (0, 0.5, 1):
        yield f'<text class="note" x="{at}" y="{y + height * (1 - share) + 4:.0f}" text-anchor="{anchor}">{short(top * share)}</text>'
    for (number, _), row in zip(side, rows, strict=True):
        kind = "line right" if right else "line"
        yield f'<path class="{kind}" stroke="{COLORS[number % len(COLORS)]}" d="{_path(row, area, top)}"/>'


def _stacked(rows: Sequence[Series]) -> list[Series]:
    below: list[float] = [0.0] * len(rows[0])
    stacked: list[Series] = []
    for row in rows:
        below = [under + (value or 0) for under, value in zip(below, row, strict=True)]
        stacked.append([total if value is not None else None for total, value in zip(below, row, strict=True)])
    return stacked


def _path(row: Series, area: tuple[int, int, int, int], top: float) -> str:
    """A line through neighbours; a value without any is a short stroke."""
    x, y, width, height = area
    parts, pen = [], False
    for number, value in enumerate(row):
        if value is None:
            pen = False
            continue
        at, up = x + width * (number + 0.5) / len(row), y + height * (1 - value / top)
        parts.append(f"{'L' if pen else 'M'}{at:.1f} {up:.1f}" + ("" if pen else "h0.8"))
        pen = True
    return "".join(parts)


def _legend(x: float, y: float, width: float, lines: Sequence[Line]) -> Iterator[str]:
    for number, line in enumerate(lines):
        label = line.label + (" →" if line.right else "")
        if x + len(label) * 6 + 14 > x + width:
            return
        yield f'<rect x="{x:.0f}" y="{y - 8:.0f}" width="8" height="8" fill="{COLORS[number % len(COLORS)]}"/>'
        yield f'<text class="note" x="{x + 12:.0f}" y="{y:.0f}">{escape(label)}</text>'
        x, width = x + len(label) * 6 + 26, width - len(label) * 6 - 26


def nice(value: float) -> float:
    """1, 2 or 5 times a power of ten, not less than `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.999)


def short(value: float) -> str:
    """`1200` → `1.2k`."""
    for divisor, letter in ((1e6, "M"), (1e3, "k")):
        if value >= divisor:
            return f"{value / divisor:g}{letter}"
    return f"{value:g}"
