"""Dollars a month by runs a month, both on logarithmic scales, as an SVG. Light and dark by the reader's own setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from infra.costs.bill import month
from infra.costs.comparison import CONTAINERS
from infra.costs.container import container
from infra.costs.report import Report, rounded

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 72, 168, 36, 62
LEAST, MOST = 3, 9
"""Powers of ten of runs that are drawn."""
STEPS = 20
"""Points of a power of ten."""
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.note{fill:#59636e}.grid{stroke:#d1d9e0}"
    "path{fill:none;stroke-width:2;stroke:#818b98}.two{stroke-dasharray:6 4}.ours{stroke:#0969da}circle{fill:#cf222e}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.grid{stroke:#3d444d}path{stroke:#656c76}"
    ".ours{stroke:#4493f8}circle{fill:#f85149}}"
)

Points = Sequence[tuple[float, float]]


def svg(report: Report) -> str:
    """The picture: this project, a container in one zone and in two, and the points where they meet."""
    runs = [10 ** (step / STEPS) for step in range(LEAST * STEPS, MOST * STEPS + 1)]
    ways: dict[str, Callable[[float], float]] = {
        "this project": lambda number: month(report.mix, number, report.terms).usd,
        **{
            name: lambda number, zones=zones: container(report.mix, number, report.terms, zones).bill.usd  # type: ignore[misc]
            for zones, name in CONTAINERS.items()
        },
    }
    drawn = {name: [(number, usd(number)) for number in runs] for name, usd in ways.items()}
    amounts = [amount for points in drawn.values() for _, amount in points]
    scale = _Scale(math.floor(math.log10(min(amounts))), math.ceil(math.log10(max(amounts))))
    parts = [
        f'<text class="title" x="0" y="18">{escape("Dollars a month by runs a month, " + report.terms.prices.region)}</text>',
        *scale.grid(),
        *(part for name, points in drawn.items() for part in _line(name, points, scale)),
        *(part for zones, number in report.meets.items() if number for part in _meeting(number, zones, ways["this project"], scale)),
        f'<text class="note" x="0" y="{HEIGHT - 8}">{escape(_caption(report))}</text>',
    ]
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"


class _Scale:
    """Runs and dollars → places on the picture; `low` and `high` are powers of ten of dollars."""

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high

    def x(self, runs: float) -> float:
        return round(LEFT + (math.log10(runs) - LEAST) / (MOST - LEAST) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, usd: float) -> float:
        return round(HEIGHT - BOTTOM - (math.log10(usd) - self._low) / (self._high - self._low) * (HEIGHT - TOP - BOTTOM), 1)

    def grid(self) -> list[str]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        parts: list[str] = []
        for power in range(self._low, self._high + 1):
            y = self.y(10.0**power)
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
            parts.append(f'<text class="note" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">${10.0**power:,.15g}</text>')
        runs = [10**power for power in range(LEAST, MOST + 1)]
        return [
            *parts,
            *(f'<text class="note" x="{self.x(number)}" y="{bottom + 20}" text-anchor="middle">{_short(number)}</text>' for number in runs),
        ]


def _short(runs: int) -> str:
    """Whole numbers to a hundred thousand, then millions: more digits have no room."""
    return f"{runs:,}" if runs < 1_000_000 else f"{runs // 1_000_000:,} M"


def _line(name: str, points: Points, scale: _Scale) -> list[str]:
    path = " ".join(f"{scale.x(runs)},{scale.y(usd)}" for runs, usd in points)
    kind = {"this project": "ours", CONTAINERS[2]: "two"}.get(name, "one")
    # the names of the two containers would lie on each other
    drop = {CONTAINERS[1]: 10, CONTAINERS[2]: -4}.get(name, 4)
    label = f'<text x="{WIDTH - RIGHT + 8}" y="{scale.y(points[-1][1]) + drop}">{escape(name)}</text>'
    return [f'<path class="{kind}" d="M{path}"/>', label]


def _meeting(runs: float, zones: int, usd: Callable[[float], float], scale: _Scale) -> list[str]:
    if not 10**LEAST <= runs <= 10**MOST:
        return []
    x, y = scale.x(runs), scale.y(usd(runs))
    side = ("start", x + 8, y + 18) if zones == 1 else ("end", x - 8, y - 8)
    said = f"{rounded(runs):,} runs"
    return [f'<circle cx="{x}" cy="{y}" r="4"/>', f'<text class="note" x="{side[1]}" y="{side[2]}" text-anchor="{side[0]}">{said}</text>']


def _caption(report: Report) -> str:
    given, mix = report.terms.given, report.mix
    return (
        f"{mix.memory:,.0f} MB, {mix.seconds:.0f} s a run, most of it the wait for a model of {given.token_ms:g} ms a token; "
        f"prices to {report.terms.prices.dates[1]}; counters of {report.measured.date}"
    )
