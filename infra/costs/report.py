"""What a run costs, as text of at most 100 columns and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from infra.costs.assumptions import SECONDS
from infra.costs.bill import SERVICES, SNAPSHOTS, Bill, Terms, per_runs
from infra.costs.comparison import Month, break_even, month_of
from infra.costs.container import Container
from infra.costs.counters import Measured
from infra.costs.usage import Usage, mixed

THOUSAND = 1_000


@dataclass(frozen=True, slots=True)
class Report:
    """`usages` by agent; months of an equal mix of them. `carried`: runs a month that the smallest container carries."""

    terms: Terms
    measured: Measured
    usages: Mapping[str, Usage]
    mix: Usage
    bills: Mapping[str, Bill]
    months: Sequence[Month]
    meets: Mapping[int, float | None]


def report_of(usages: Mapping[str, Usage], runs: Sequence[float], terms: Terms, measured: Measured) -> Report:
    mix = mixed(list(usages.values()))
    return Report(
        terms=terms,
        measured=measured,
        usages=usages,
        mix=mix,
        bills={agent: per_runs(usage, THOUSAND, terms) for agent, usage in usages.items()},
        months=[month_of(mix, number, terms) for number in runs],
        meets={zones: break_even(mix, terms, zones) for zones in (1, 2)},
    )


def as_text(report: Report) -> str:
    parts = [
        _heading(report),
        "Dollars per 1,000 runs",
        runs_table(report),
        f"A month, {_whose(report)}; the container in one zone and in two",
        months_table(report),
        meeting(report),
        "What gives way first",
        limits_text(report),
        *([_snap_start(report)] if report.terms.snap_start else []),
        _assumed(report),
    ]
    return "\n\n".join(parts)


def _heading(report: Report) -> str:
    prices, measured = report.terms.prices, report.measured
    oldest, newest = prices.dates
    known = sum(price.basis == "as known" for price in prices.by_name.values())
    return "\n".join(
        [
            f"{prices.region}, arm64, {report.mix.memory:,.0f} MB; counters measured on {measured.date} at {measured.commit}",
            f"List prices of {oldest} to {newest}, {known} of {len(prices.by_name)} as known (infra/costs/prices.json);",
            "no free tier, discount or tax",
        ]
    )


def runs_table(report: Report) -> str:
    """A row an agent: billed seconds, dollars by service, in all."""
    services = [service for service in SERVICES if any(bill.of(service) for bill in report.bills.values())]
    rows = [
        [agent, f"{report.usages[agent].seconds:.1f}", *(f"{bill.of(service):.4f}" for service in services), f"{bill.usd:.4f}"]
        for agent, bill in report.bills.items()
    ]
    return _table(["agent", "seconds", *services, "in all"], rows)


def months_table(report: Report) -> str:
    """A row a scale: dollars both ways, and what the container is then."""
    rows = [
        [f"{month.runs:,.0f}", _usd(month.ours.usd), _usd(month.one.bill.usd), _usd(month.two.bill.usd), _standing(month.two)]
        for month in report.months
    ]
    return _table(["runs", "here", "container", "two zones", "which is"], rows, left=(4,))


def _standing(found: Container) -> str:
    databases = "" if found.databases == 1 else f"{found.databases:,} × "
    return f"{found.tasks:,} × {found.vcpu:g} vCPU, {databases}{found.database}, standby"


def meeting(report: Report) -> str:
    """Where both ways cost the same, and what a task of the container carries."""
    said = {zones: "no number of runs" if runs is None else f"{rounded(runs):,} runs a month" for zones, runs in report.meets.items()}
    small = report.months[0].one
    return (
        f"They cost the same at {said[1]} (one zone) and {said[2]} (two).\n"
        f"A container's task of {small.vcpu:g} vCPU carries {rounded(small.carried / small.tasks):,} runs a month, "
        f"{rounded(small.carried / small.tasks / SECONDS * report.mix.seconds):,} waiting at once."
    )


def rounded(number: float) -> int:
    """To two digits: more would be a pretence."""
    return int(float(f"{number:.2g}"))


def limits_text(report: Report) -> str:
    """By scale the limit that is nearest, with its arithmetic and what moves it; then those that more runs alone do not bring."""
    lines: list[str] = []
    for month in report.months:
        first = month.first
        state = f"hit, {first.share:,.1f} ×" if first.share >= 1 else f"{first.share * 100:.2g} % of it"
        lines += [f"{month.runs:>13,.0f}  {first.name} ({state})", f"{'':15}{first.how} of {first.limit:,} {first.unit}"]
        lines += [f"{'':15}{other.name}: {other.share:,.1f} ×" for other in _also_hit(month)]
        lines += [f"{'':15}→ {first.moved_by}"]
    caller = next(limit for limit in report.months[-1].limits if limit.name == "one caller for everybody")
    one_caller = caller.load / report.months[-1].runs
    lines += [
        f"{'any':>13}  one caller for everybody: {caller.limit:,} {caller.unit} are {rounded(caller.limit / one_caller):,} runs a month",
        f"{'':15}→ {caller.moved_by}",
    ]
    return "\n".join(lines)


def _also_hit(month: Month) -> list[Any]:
    return [limit for limit in month.limits if limit.of_traffic and limit.share >= 1 and limit is not month.first]


def _snap_start(report: Report) -> str:
    """What it costs beside the cold starts that it takes the place of."""
    prices, mix = report.terms.prices, report.mix
    kept = next(line.usd for line in report.months[0].ours.lines if line.what == SNAPSHOTS)
    versions = report.terms.agents * report.terms.given.snapshot_versions
    restore = prices.of("snapstart_restored_gb", mix.memory / 1_024)
    start = prices.of("lambda_gb_second", mix.init_gb_seconds)
    paid = (
        "it costs more at any number of runs, and buys the wait"
        if restore >= start
        else f"it is paid back by {rounded(kept / (start - restore)):,} cold starts a month"
    )
    return "\n".join(
        [
            "SnapStart",
            f"  a snapshot {_usd(kept / versions)} a month for each version that is kept, {_usd(kept)} for {versions}",
            f"  a restore ${restore:.6f}, where a cold start of {mix.init_seconds:.1f} s is billed with ${start:.6f}:",
            f"  {paid}",
        ]
    )


def _assumed(report: Report) -> str:
    given, mix = report.terms.given, report.mix
    return "\n".join(
        [
            'Assumed (change it with --prices FILE: {"assumptions": {…}})',
            f"  the model: {given.first_token_ms:g} ms to the first token, {given.token_ms:g} ms a token, at least "
            f"{given.answer_tokens:g} tokens: {mix.waiting_seconds / mix.seconds:.0%} of the time billed",
            f"  {given.cold_share:.0%} cold starts of {mix.init_seconds:.1f} s; with few runs nearly all are",
            f"  threads kept {given.kept_months:g} months, logs {given.log_months:g}; a peak of {given.peak:g} × the average",
            f"  the container: tasks at {given.busy:.0%} CPU that follow the load, {mix.cpu_seconds:.2f} s of CPU a run as measured here,",
            f"  {given.run_mb:g} MB a waiting run, {given.statements_a_vcpu:,.0f} statements a second for a vCPU of Postgres",
        ]
    )


def _whose(report: Report) -> str:
    return "an equal mix of these agents" if len(report.usages) > 1 else f"all of them of {next(iter(report.usages))}"


def _usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount < 1_000 else f"${amount:,.0f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Columns as wide as they must be; the first and those in `left` to the left."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if n == 0 or n in left else cell.rjust(width) for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [heads, *rows]
    )


def as_json(report: Report) -> dict[str, Any]:
    """Everything, each line of each bill with its quantity."""
    return {
        "region": report.terms.prices.region,
        "measured": report.measured.model_dump(),
        "assumptions": report.terms.given.model_dump(),
        "snap_start": report.terms.snap_start,
        "per_1000_runs": {
            agent: {"usage": asdict(report.usages[agent]), "usd": bill.usd, "lines": _lines(bill)} for agent, bill in report.bills.items()
        },
        "months": [_month(month) for month in report.months],
        "break_even_runs_a_month": {"one_zone": report.meets[1], "two_zones": report.meets[2]},
    }


def _month(month: Month) -> dict[str, Any]:
    limits = [asdict(limit) | {"share": limit.share} for limit in month.limits]
    return {
        "runs": month.runs,
        "here": {"usd": month.ours.usd, "lines": _lines(month.ours)},
        "container_one_zone": _container(month.one),
        "container_two_zones": _container(month.two),
        "first_limit": month.first.name,
        "limits": limits,
    }


def _container(found: Container) -> dict[str, Any]:
    told = {name: getattr(found, name) for name in ("tasks", "vcpu", "gb", "carried", "database", "databases")}
    return {**told, "usd": found.bill.usd, "lines": _lines(found.bill)}


def _lines(bill: Bill) -> list[dict[str, Any]]:
    return [asdict(line) for line in bill.lines]
