"""The picture is of the synthesised dashboard: its widgets, with what runs wrote."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from xml.etree import ElementTree

import pytest

from functions.observing import names
from functions.observing.metrics import write_metrics
from functions.observing.request import Environment, Observed
from functions.observing.run import Seen
from functions.store.meter import Meter
from tests.bench.dashboard.__main__ import picture
from tests.bench.dashboard.board import widgets
from tests.bench.dashboard.cloudwatch import CloudWatch
from tests.bench.dashboard.day import DAY_MS, START, simulate
from tests.bench.dashboard.recording import Recorded
from tests.infra.templates import Synth
from tests.support.emf import points_of


def recorded(outcome: str, *, cold: bool) -> Recorded:
    """A run as its process would have written it."""
    meter = Meter()
    meter.count(calls=9, written=4_000, read=1_000)
    seen = Seen(cold=cold, outcome=outcome, code="AGENT_INTERNAL" if outcome == names.ERROR else None, first_event=5.0, duration=90.0)
    with redirect_stdout(io.StringIO()) as out:
        write_metrics(Observed(Environment("dev", namespace=names.namespace_of("agents"))), {"run_id": "r"}, seen, meter)
    return Recorded("dev", outcome, cold, 95.0, tuple(points_of(out.getvalue())))


RUNS = [recorded(outcome, cold=cold) for outcome in (names.SUCCESS, names.INTERRUPT, names.ERROR) for cold in (True, False)]


@pytest.mark.infra
@pytest.mark.timeout(300)
def test_every_widget_of_the_stack_is_drawn(synth: Synth) -> None:
    """Also the one that only AWS could fill, which says so; and the picture says what is simulated."""
    template = synth(agents="dev")
    drawn = picture(RUNS, 200, template)
    ElementTree.fromstring(drawn)
    assert [widget.title for widget in widgets(template) if f">{widget.title}<" not in drawn] == []
    assert "Simulated: the arrivals of 200 runs" in drawn
    assert drawn.count("it is not simulated") == 3, "tokens, their costs and the tables' units: these runs reported none"


@pytest.mark.infra
@pytest.mark.timeout(300)
def test_a_widget_shows_what_was_written(synth: Synth) -> None:
    """Every run of the day is in the outcomes, every cold start in its own."""
    day = simulate(RUNS, 200)
    cloudwatch = CloudWatch([point for invocation in day for point in invocation.points()], START, DAY_MS + 600_000)
    shown = {
        widget.title: {line.label: sum(value or 0 for value in line.series) for line in widget.lines(cloudwatch)}
        for widget in widgets(synth(agents="dev"))
    }
    assert sum(shown["runs by how they ended"].values()) == 200
    assert sum(shown["dev: how they ended"].values()) == 200
    assert shown["dev: runs"]["cold starts"] == sum(invocation.run.cold for invocation in day) > 0


def test_a_day_has_its_peaks_and_its_outage() -> None:
    """More runs in the morning's peak than at night; in the outage more of them fail; the same seed, the same day."""
    day = simulate(RUNS, 3_000)
    hours = [(invocation.at - START) / 3_600_000 for invocation in day]
    assert sum(10 <= hour < 11 for hour in hours) > 5 * sum(3 <= hour < 4 for hour in hours)
    failed = [invocation.run.outcome == names.ERROR for invocation in day]
    out = [bad for bad, hour in zip(failed, hours, strict=True) if 15 <= hour < 15.5]
    assert sum(out) / len(out) > 0.2 > 0.1 > sum(failed) / len(failed)
    assert day == simulate(RUNS, 3_000)
