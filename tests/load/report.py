"""What came of a crowd: as text, and as a picture over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from statistics import quantiles

from tests.load.crowd import Plan, Seen, growth
from tests.load.talker import Turn

WIDTH, HEIGHT, LEFT, TOP, GAP = 760, 130, 56, 30, 52
BUCKETS = 30
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.note{fill:#59636e}.grid{stroke:#d1d9e0}"
    "path{fill:none;stroke-width:2;stroke:#818b98}.ours{stroke:#0969da}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.grid{stroke:#3d444d}path{stroke:#656c76}.ours{stroke:#4493f8}}"
)
Points = Sequence[tuple[float, float]]


def percentile(values: Sequence[float], share: float) -> float:
    """Of at least one value."""
    return quantiles(values, n=1_000, method="inclusive")[round(share * 1_000) - 1] if len(values) > 1 else values[0]


def rows(seen: Seen) -> list[tuple[str, list[float], str]]:
    """What is measured, its values, and their unit."""
    turns = [turn for turn in seen.turns if not turn.broken]
    return [
        ("request → first event", _of(turns, "first_event", 1_000), "ms"),
        ("request → first token", _of((turn for turn in turns if turn.kind in ("answer", "searched")), "first_token", 1_000), "ms"),
        ("an answer, in its model's own time", [turn.whole / turn.model for turn in turns if turn.kind == "answer" and turn.whole], "×"),
        ("left stream: asked for the rest → its first byte", _of(turns, "joined", 1_000), "ms"),
        ("stop → the thread is free", _of(turns, "stopped", 1_000), "ms"),
        ("killed → the turn has ended all the same", _of(seen.turns, "recovered", 1), "s"),
    ]


def _of(turns: Iterable[Turn], name: str, times: float) -> list[float]:
    return [value * times for turn in turns if (value := getattr(turn, name)) is not None]


def text(seen: Seen, plan: Plan, workers: int) -> str:
    kinds = Counter(turn.kind for turn in seen.turns)
    lines = [
        f"{plan.threads} threads, {plan.at_once} turns at once, {workers} workers, {plan.seconds:.0f} s, "
        f"a model of {plan.token_seconds * 1_000:.0f} ms a token" + (f", a kill every {plan.kill_every:g} s" if plan.kill_every else ""),
        f"{len(seen.turns):,} turns: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common()),
        f"{len(seen.faults)} faults",
    ]
    if plan.kill_every:
        broken = [turn for turn in seen.turns if turn.broken]
        lines.append(f"{seen.kills} workers killed in the middle of a stream: {len(broken)} turns broke off and went on to their end")
    if (found := growth(seen)) is not None:
        lines.append(f"memory of a worker: {found[0]:.0f} MB after a third of the time, {found[1]:.0f} MB at its end")
    lines += ["", f"{'':50}{'p50':>9}{'p95':>9}{'p99':>9}{'most':>9}"]
    for name, values, unit in rows(seen):
        if values:
            cells = [percentile(values, share) for share in (0.5, 0.95, 0.99)] + [max(values)]
            lines.append(f"{f'{name}, {unit} ({len(values):,})':50}" + "".join(f"{cell:>9,.{0 if unit == 'ms' else 2}f}" for cell in cells))
    return "\n".join([*lines, "", *seen.faults[:40]]).rstrip() + "\n"


def svg(seen: Seen, plan: Plan, caption: str) -> str:
    """Three panels over time: the first event, an answer's length, a worker's memory; of each moment the middle one and the 95th of 100."""
    early, answers = (
        [(turn.began, turn.first_event * 1_000) for turn in seen.turns if turn.first_event is not None and not turn.broken],
        [(turn.began, turn.whole / turn.model) for turn in seen.turns if turn.kind == "answer" and turn.whole and not turn.broken],
    )
    memory = [(at, mb) for at, found in seen.memory for pid, mb in found.items() if pid and mb > 0]
    panels = [("Request → first event, ms", early), ("An answer, in its model's own time", answers), ("Memory of a worker, MB", memory)]
    parts, top = [], 0
    for title, points in panels:
        if points:
            parts += _panel(title, points, plan.seconds, top)
            top += HEIGHT + GAP
    parts.append(f'<text class="note" x="0" y="{top + 14}">{escape(caption)}</text>')
    size = f'width="{WIDTH}" height="{top + 24}" viewBox="0 0 {WIDTH} {top + 24}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"


def _panel(title: str, points: Points, seconds: float, top: int) -> list[str]:
    lines = {name: _bucketed(points, seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95))}
    most = max(value for line in lines.values() for _, value in line) * 1.1 or 1.0
    bottom = top + TOP + HEIGHT

    def place(at: float, value: float) -> str:
        return f"{LEFT + at / seconds * (WIDTH - LEFT - 60):.1f},{bottom - value / most * HEIGHT:.1f}"

    parts = [f'<text class="title" x="0" y="{top + 18}">{escape(title)}</text>']
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * HEIGHT
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - 60}" y2="{y}"/>')
        parts.append(f'<text class="note" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{most * share:,.{0 if most > 20 else 1}f}</text>')
    for name, line in lines.items():
        kind = "ours" if name == "p50" else "rest"
        parts.append(f'<path class="{kind}" d="M{" ".join(place(at, value) for at, value in line)}"/>')
        right, height = map(float, place(*line[-1]).split(","))
        parts.append(f'<text class="note" x="{right + 6}" y="{height + 4}">{name}</text>')
    parts.append(f'<text class="note" x="{WIDTH - 60}" y="{bottom + 16}" text-anchor="end">{seconds / 60:.0f} min</text>')
    return parts


def _bucketed(points: Points, seconds: float, share: float) -> Points:
    """The percentile of each part of the time that has a value."""
    parts: dict[int, list[float]] = {}
    for at, value in points:
        parts.setdefault(min(BUCKETS - 1, int(at / seconds * BUCKETS)), []).append(value)
    return [((part + 0.5) * seconds / BUCKETS, percentile(values, share)) for part, values in sorted(parts.items())]
