"""Beside a container, and what gives way first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.costs.assumptions import Assumptions
from infra.costs.bill import Model, month
from infra.costs.comparison import break_even, month_of
from infra.costs.container import container
from infra.costs.limits import limits
from infra.costs.usage import Usage
from tests.infra.costs.made import TERMS, USAGE

RUNS = st.floats(min_value=1, max_value=1e11)


@pytest.mark.parametrize(
    ("what", "dollars"),
    [
        ("tasks", 7.20875),  # one of 0.25 vCPU and 0.5 GB
        ("load balancer", 16.425),
        ("its capacity units", 0.152588),  # 0.0261 GB an hour
        ("public addresses", 10.95),  # three
        ("instances", 11.68),  # db.t4g.micro
        ("threads kept", 13.16071),  # 114.44 GB
        ("written and kept", 0.505447),
        ("to the internet", 1.716614),
    ],
)
def test_a_million_runs_in_a_container(what: str, dollars: float) -> None:
    """0.38 runs a second of 0.25 s of CPU: half of a quarter vCPU carries half a run a second."""
    found = {line.what: line.usd for line in container(USAGE, 1_000_000, TERMS).bill.lines}
    assert found[what] == pytest.approx(dollars, rel=1e-5)


@pytest.mark.parametrize(
    ("runs", "zones", "tasks", "database"),
    [
        (1, 1, 1, "db.t4g.micro"),
        (1, 2, 2, "db.t4g.micro"),
        (1_314_000, 1, 1, "db.t4g.micro"),  # all that a task carries
        (2_000_000, 1, 2, "db.t4g.micro"),
        (10_000_000, 1, 8, "db.t4g.medium"),  # 15.2 runs/s at the peak, 15 statements each
        (100_000_000, 1, 77, "db.m7g with 4 vCPU"),
        (1_000_000_000, 2, 762, "db.m7g with 32 vCPU"),
        (10_000_000_000, 1, 7_611, "db.m7g with 64 vCPU"),
    ],
)
def test_what_stands_there(runs: int, zones: int, tasks: int, database: str) -> None:
    """Tasks by CPU, at least one in each zone; the database by the statements of the peak."""
    found = container(USAGE, runs, TERMS, zones)
    assert (found.tasks, found.vcpu, found.database) == (tasks, 0.25, database)
    assert found.carried >= runs


def test_two_zones_double_tasks_and_database() -> None:
    """And add an address, where one task would do."""
    one, two = (container(USAGE, 1_000, TERMS, zones).bill.usd for zones in (1, 2))
    assert two - one == pytest.approx(7.20875 + 3.65 + 11.68 + 20 * 0.115)


def test_long_waits_take_memory() -> None:
    """15 minutes of waiting each: 36 runs in 0.5 GB, or 87 in 1 GB beside the process of 150 MB."""
    found = container(replace(USAGE, seconds=900, cpu_seconds=0.01), 1_000_000, TERMS)
    assert found.carried / found.tasks / 2_628_000 * 900 == pytest.approx((found.gb * 1_024 - 150) / 10)
    assert found.carried >= 1_000_000


def test_a_process_that_no_small_task_holds() -> None:
    """Takes the smallest one that does."""
    assert container(replace(USAGE, process_mb=1_500), 1_000, TERMS).gb == 2.0


def test_the_model_is_the_same_to_both() -> None:
    """So it moves no break-even."""
    asked = replace(TERMS, model=Model(1, 10))
    for runs in (1_000, 1e9):
        assert container(USAGE, runs, asked).bill.of("model") == pytest.approx(month(USAGE, runs, asked).of("model"))
    assert break_even(USAGE, asked, 1) == pytest.approx(break_even(USAGE, TERMS, 1))


@pytest.mark.parametrize("zones", [1, 2])
def test_the_break_even(zones: int) -> None:
    """Just below it the container costs more, from it on no more."""
    found = break_even(USAGE, TERMS, zones)
    assert found is not None
    assert month(USAGE, found * 0.99, TERMS).usd < container(USAGE, found * 0.99, TERMS, zones).bill.usd
    assert month(USAGE, found, TERMS).usd > container(USAGE, found, TERMS, zones).bill.usd


def test_there_may_be_none() -> None:
    """Where tasks stand idle for all but a hundredth of the CPU that a run is billed for, and nothing is stored."""
    busy = replace(USAGE, seconds=0.01, cpu_seconds=0.01, init_seconds=0, write_units=0, read_units=0, table_gb=0, s3_gets=0)
    assert break_even(busy, replace(TERMS, given=Assumptions.model_validate({"busy": 0.01})), 1) is None


@given(RUNS, RUNS, st.sampled_from([1, 2]))
def test_more_runs_need_no_smaller_container(one: float, other: float, zones: int) -> None:
    """Nor do they cost less."""
    fewer, more = sorted((one, other))
    assert container(USAGE, fewer, TERMS, zones).bill.usd <= container(USAGE, more, TERMS, zones).bill.usd * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "load", "limit"),
    [
        ("Lambda concurrency", 45_662.1, 1_000),  # 1,522 runs/s × 30 s
        ("function URL rate", 1_522.07, 10_000),
        ("writes of a new table", 15_220.7, 4_000),
        ("reads of a new table", 7_610.35, 12_000),
        ("log calls", 1_522.07, 5_000),
        ("one caller for everybody", 3_044.14, 1_000),
        ("one thread", 0.3333333, 1_000),
        ("one stream", 20_480, 6_291_456),
    ],
)
def test_the_limits_of_a_thousand_million_runs(name: str, load: float, limit: float) -> None:
    """380.5 runs a second on average, four times that at the peak."""
    found = {one.name: one for one in limits(USAGE, 1e9, TERMS)}[name]
    assert (found.load, found.limit) == pytest.approx((load, limit), rel=1e-5)
    assert found.moved_by


@pytest.mark.parametrize(
    ("usage", "first"),
    [
        (USAGE, "Lambda concurrency"),
        (replace(USAGE, seconds=0.05), "writes of a new table"),
        (replace(USAGE, seconds=0.01, busiest_write_units=0.1, read_units=0.1), "log calls"),
    ],
)
def test_the_first_limit(usage: Usage, first: str) -> None:
    """The one with the largest share, whatever the scale."""
    for runs in (1_000, 1_000_000, 1_000_000_000):
        assert month_of(usage, runs, TERMS).first.name == first
