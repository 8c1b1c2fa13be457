"""From counters to dollars."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.costs.assumptions import Assumptions
from infra.costs.bill import Bill, Model, month, per_runs
from infra.costs.usage import Usage, mixed, usage_of
from tests.infra.costs import KIB_IN_GB
from tests.infra.costs.made import COUNTERS, TERMS, USAGE

RUNS = st.floats(min_value=1, max_value=1e10)


def usd(bill: Bill) -> dict[str, float]:
    return {line.what: line.usd for line in bill.lines}


@pytest.mark.parametrize(
    ("what", "dollars"),
    [
        ("requests", 0.0002),
        ("running and starting", 0.40133534),  # 30,000 GB-s, and 2 % of 5,000
        ("streamed over 6 MB", 0.0),
        ("writes", 0.0075),  # 12,000 units
        ("reads", 0.000625),  # 5,000 units
        ("threads kept", 0.028610229),  # 9.765625 MB for 12 months
        ("their backups", 0.022888184),
        ("events kept", 0.0000156768381),  # 0.95 MB for two of 730/24 days
        ("PUT and LIST", 0.0),
        ("GET and HEAD", 0.0008),  # 2,000
        ("objects kept", 0.0),
        ("written", 0.000476837),  # 1,000 KB of logs
        ("kept", 0.00002861023),
        ("to the internet", 0.0017166138),  # 19.53125 MB
    ],
)
def test_a_thousand_runs(what: str, dollars: float) -> None:
    """30 s with 1 GB each, 12 and 5 units, 10 KB kept for a year and 1 KB for two days, 20 KB sent, 1 KB of logs."""
    assert usd(per_runs(USAGE, 1_000, TERMS))[what] == pytest.approx(dollars, rel=1e-6)


def test_a_thousand_runs_in_all() -> None:
    """By service and together."""
    bill = per_runs(USAGE, 1_000, TERMS)
    assert bill.of("Lambda") == pytest.approx(0.40153534)
    assert bill.of("DynamoDB") == pytest.approx(0.059639089, rel=1e-6)
    assert bill.usd == pytest.approx(0.46419649, rel=1e-6)


def test_a_month_has_what_stands_there() -> None:
    """Nine metrics that alarms of each of two agents look at and sixteen that they write, beside a thousand times the thousand runs."""
    assert month(USAGE, 1_000_000, TERMS).usd == pytest.approx(464.19649 + 1.80 + 32 * 0.30, rel=1e-6)
    quiet = {"secrets": 2, "metrics": 0}
    assert month(USAGE, 1, replace(TERMS, given=Assumptions.model_validate(quiet))).of("fixed") == pytest.approx(1.80 + 0.80)


def test_metrics_are_paid_by_the_hour() -> None:
    """One run of each agent in an hour on average: 63 % of the hours have one."""
    assert usd(month(USAGE, 2 * 730, TERMS))["custom metrics"] == pytest.approx(32 * 0.30 * 0.6321206)
    assert usd(month(USAGE, 2, TERMS))["custom metrics"] == pytest.approx(32 * 0.30 / 730, rel=1e-3)


def test_tiers_are_of_a_month_and_not_of_a_thousand_runs() -> None:
    """A thousand million runs: 30.1 thousand million GB-s through three tiers."""
    assert usd(month(USAGE, 1e9, TERMS))["running and starting"] == pytest.approx(356_068.67, rel=1e-7)
    assert usd(per_runs(USAGE, 1e9, TERMS))["running and starting"] == pytest.approx(401_335.34, rel=1e-7)


def test_snap_start() -> None:
    """A snapshot of 1 GB for a month and each of two agents; a restore instead of a cold start in 2 % of the runs."""
    on = replace(TERMS, snap_start=True)
    assert usd(month(USAGE, 1_000, on))["SnapStart, snapshots kept"] == pytest.approx(2 * 3.9540888)
    found = usd(per_runs(USAGE, 1_000, on))
    assert found["running and starting"] == pytest.approx(0.400002)
    assert found["SnapStart, restores"] == pytest.approx(0.002795996)  # 20 GB


def test_the_model_is_paid_beside_it() -> None:
    """Two million tokens read for $0.25 a million, half a million written for $2."""
    bill = per_runs(USAGE, 1_000, replace(TERMS, model=Model(0.25, 2)))
    assert bill.of("model") == pytest.approx(0.50 + 1.00)
    assert bill.usd - bill.of("model") == pytest.approx(per_runs(USAGE, 1_000, TERMS).usd)


def test_the_usage_of_a_run() -> None:
    """0.6 s of its own with 0.2 s of CPU, which 884.5 MB stretch to twice that; two calls of 0.7 s, 500 tokens of 50 ms."""
    usage = usage_of("one", COUNTERS, Assumptions.model_validate({"vcpu_mb": 2_048}), 1_024)
    assert (usage.seconds, usage.waiting_seconds, usage.init_seconds) == pytest.approx((27.2, 26.4, 4.0))
    assert (usage.output_tokens, usage.cpu_seconds) == pytest.approx((500, 0.4))  # 400 tokens more than measured
    # 400 tokens more add two units; 26.4 s a batch and a tenth of a beat each
    assert (usage.write_units, usage.busiest_write_units, usage.thread_row_units) == pytest.approx((15 + 26.4 * 1.1, 26.4, 3))
    assert (usage.read_units, usage.calls) == pytest.approx((5 + 13.2, 15 + 26.4 * 2.1))
    assert usage.event_gb * 1_024**3 == pytest.approx(1_000 + 800 + 264)
    assert usage.streamed_gb * 1_024**3 == pytest.approx(50_000)
    assert usage.table_gb * 1_024**3 == pytest.approx(8_000)
    assert usage.log_gb * 1_024**3 == pytest.approx(600 + 520 + 5 * 26)


def test_a_run_without_a_model_waits_for_none() -> None:
    """And its answer is as long as it was measured."""
    usage = usage_of("silent", COUNTERS, Assumptions(), 2_048)
    assert (usage.seconds, usage.waiting_seconds, usage.output_tokens) == pytest.approx((0.6, 0, 0))


def test_a_duration_of_ones_own() -> None:
    """Is billed as it is given, by begun milliseconds."""
    assert usage_of("one", COUNTERS, Assumptions(), 1_024, seconds=12.3451).seconds == pytest.approx(12.346)


def test_a_stream_over_6_mb() -> None:
    """7 MB: one is streamed for money, all seven go to the internet."""
    long = COUNTERS.model_copy(
        update={"agents": {"one": COUNTERS.agents["silent"].model_copy(update={"streamed_bytes": 7 * 1_024 * 1_024})}}
    )
    usage = usage_of("one", long, Assumptions(), 1_024)
    assert (usage.streamed_over_gb, usage.streamed_gb) == pytest.approx((1_024 * KIB_IN_GB, 7 * 1_024 * KIB_IN_GB))


def test_a_mix_is_the_average() -> None:
    """Of every field."""
    twice = Usage(**{field.name: getattr(USAGE, field.name) * 3 for field in fields(Usage)})
    assert asdict(mixed([USAGE, twice])) == pytest.approx({name: value * 2 for name, value in asdict(USAGE).items()})


@given(RUNS, RUNS)
def test_more_runs_never_cost_less(one: float, other: float) -> None:
    """And the second million no more than the first."""
    fewer, more = sorted((one, other))
    assert month(USAGE, fewer, TERMS).usd <= month(USAGE, more, TERMS).usd
    assert month(USAGE, more, TERMS).usd / more <= month(USAGE, fewer, TERMS).usd / fewer * (1 + 1e-9)


@given(st.sampled_from([field.name for field in fields(Usage)]), st.floats(min_value=1, max_value=100), RUNS)
def test_using_more_never_costs_less(name: str, times: float, runs: float) -> None:
    """Whatever it is."""
    more = replace(USAGE, **{name: getattr(USAGE, name) * times})
    assert month(more, runs, TERMS).usd >= month(USAGE, runs, TERMS).usd * (1 - 1e-12)
