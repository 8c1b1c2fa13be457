"""Saved results → one SVG: a panel a measurement, a bar a row, the limit as a line. Light and dark by the reader's own setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, LABEL, VALUE, ROW, HEAD = 760, 190, 150, 24, 44
OURS = ("this project", "at the Runtime API")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.note{fill:#59636e}"
    ".bar{fill:#afb8c1}.ours{fill:#0969da}.limit{stroke:#cf222e;stroke-dasharray:4 3}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.bar{fill:#515c67}.ours{fill:#4493f8}.limit{stroke:#f85149}}"
)


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    note: str


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    bars: Sequence[Bar]
    limit: float | None = None


def panels(results: Mapping[str, Mapping[str, Any]]) -> list[Panel]:
    """What is drawn of saved results, by measurement: whichever of those that are drawn is there."""
    return [draw(results[name]["rows"]) for name, draw in _DRAWN.items() if name in results]


def svg(drawn: Sequence[Panel], caption: str) -> str:
    """The picture. `caption` says where the numbers are from."""
    parts: list[str] = []
    top = 0
    for panel in drawn:
        parts += _panel(panel, top)
        top += HEAD + ROW * len(panel.bars) + 12
    parts.append(f'<text class="note" x="0" y="{top + 18}">{escape(caption)}</text>')
    size = f'width="{WIDTH}" height="{top + 28}" viewBox="0 0 {WIDTH} {top + 28}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"


def _panel(panel: Panel, top: int) -> list[str]:
    scale = (WIDTH - LABEL - VALUE) / max(bar.value for bar in panel.bars)
    parts = [f'<text class="title" x="0" y="{top + 24}">{escape(panel.title)}</text>']
    for number, bar in enumerate(panel.bars):
        y, width = top + HEAD - 8 + ROW * number, max(1, round(bar.value * scale))
        kind = "bar ours" if bar.label.startswith(OURS) else "bar"
        parts += [
            f'<text x="0" y="{y + 14}">{escape(bar.label)}</text>',
            f'<rect class="{kind}" x="{LABEL}" y="{y + 2}" width="{width}" height="{ROW - 8}" rx="2"/>',
            f'<text class="note" x="{LABEL + width + 8}" y="{y + 14}">{escape(bar.note)}</text>',
        ]
    if panel.limit is not None:
        x = LABEL + round(panel.limit * scale)
        parts.append(f'<path class="limit" d="M{x} {top + HEAD - 10}v{ROW * len(panel.bars)}"/>')
    return parts


def _stream(rows: Sequence[Mapping[str, Any]]) -> Panel:
    bars = [Bar(row["way"], row["vs_drain"], f"{row['vs_drain']:.2f} × ({row['us_per_token']} µs)") for row in rows]
    return Panel("CPU of one token, graph → SSE frame, in bare v3 drains (line: our limit)", bars, 1.4)


def _path(rows: Sequence[Mapping[str, Any]]) -> Panel:
    bars = [Bar(row["way"], row["vs_drain"], f"{row['vs_drain']:.2f} × ({row['us_per_token']} µs)") for row in rows]
    return Panel("CPU of one token, graph → chunk at Lambda's Runtime API, in bare v3 drains (line: our limit)", bars, 1.8)


def _bytes(rows: Sequence[Mapping[str, Any]]) -> Panel:
    bars = [Bar(row["way"], row["first_turn_kb"], f"{row['first_turn_kb']:,.0f} KB") for row in rows]
    return Panel("Sent by a turn of 200 tokens after 200 messages of 2 KB", bars)


def _store(rows: Sequence[Mapping[str, Any]]) -> Panel:
    bars = [Bar(row["way"], row["calls"], f"{row['calls']} ({row['write_units']} write units)") for row in rows]
    return Panel("DynamoDB calls of one run: 5 super-steps, 2 tools at once twice (line: our limit)", bars, 20)


def _cold(rows: Sequence[Mapping[str, Any]]) -> Panel:
    bars = [Bar(row["way"], row["cpu_s"], f"{row['cpu_s']:.2f} s ({row['vs_peer']:.2f} × the peer)") for row in rows]
    return Panel("CPU of a cold start, from the process's start to the first event", bars)


def _imports(rows: Sequence[Mapping[str, Any]]) -> Panel:
    mine = [row for row in rows if row["ms"]]
    bars = [Bar(_OWN.get(row["package"], row["package"]), row["ms"], f"{row['ms']:.0f} ms, {row['modules']} modules") for row in mine]
    return Panel("Its imports by package, this project's bundle (wall, under -X importtime)", bars)


_OWN = {name: f"this project: {name}" for name in ("functions", "graphs")}
_DRAWN = {"stream": _stream, "path": _path, "bytes": _bytes, "store": _store, "cold": _cold, "imports": _imports}
