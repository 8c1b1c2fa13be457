"""The same runs in a standing container: Fargate tasks behind a load balancer, threads in Postgres.

It may have many runs wait for their models at once, so what sizes it is CPU, as measured, and memory. Its tasks follow the average load;
its database is sized for the peak, since it does not follow. Both are spared what else a team would pay for (NAT, deployments, on call).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from infra.costs.assumptions import HOURS, SECONDS
from infra.costs.bill import Bill, Line, Terms, metrics_line
from infra.costs.prices import Name
from infra.costs.usage import Usage

TASK_SIZES = ((0.25, 0.5), (0.25, 1.0), (0.5, 1.0), (1.0, 2.0))
"""vCPU and GB. https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html"""
BURSTING = ((0.2, "postgres_micro_hour"), (0.4, "postgres_medium_hour"))
"""vCPU that a db.t4g.micro and .medium give for good: 10 and 20 % of two."""
SMALLEST, LARGEST = 2, 64
"""vCPU of a db.m7g; over the largest there are several databases."""
LCU_CONNECTIONS, LCU_ACTIVE, LCU_GB_HOUR = 25, 3_000, 1
"""New connections a second, open ones, GB an hour: a load balancer's capacity unit is the largest of the three."""
BALANCER_ADDRESSES = 2
"""A load balancer is in two zones at least, with a public address in each."""


@dataclass(frozen=True, slots=True)
class Container:
    """What stands there. `vcpu`, `gb`: of a task; `carried`: runs a month that these tasks carry; `zones`: 2 survives the loss of one."""

    zones: int
    tasks: int
    vcpu: float
    gb: float
    carried: float
    database: str
    databases: int
    bill: Bill


def container(usage: Usage, runs: float, terms: Terms, zones: int = 1) -> Container:
    """The cheapest tasks that carry so many runs a month, and their database. With two zones tasks and database are at least double."""
    tasks, vcpu, gb = min((_tasks(usage, runs, terms, size, zones) for size in TASK_SIZES), key=lambda found: _task_usd(found, terms))
    name, databases, database_lines = _database(usage, runs, terms, zones)
    lines = [Line("Fargate", "tasks", tasks, f"of {vcpu:g} vCPU, {gb:g} GB", _task_usd((tasks, vcpu, gb), terms))]
    lines += [*_network(usage, runs, terms, tasks), *database_lines, *_same(usage, runs, terms)]
    return Container(zones, tasks, vcpu, gb, _carried(usage, terms, tasks, vcpu, gb), name, databases, Bill(lines))


def _tasks(usage: Usage, runs: float, terms: Terms, size: tuple[float, float], zones: int) -> tuple[int, float, float]:
    """How many of that size, and the size again."""
    carried = _carried(usage, terms, 1, *size)
    return max(zones, math.ceil(runs / carried)) if carried else 10**12, *size


def _carried(usage: Usage, terms: Terms, tasks: int, vcpu: float, gb: float) -> float:
    """Runs a month that so many tasks carry: as many as their CPU works through, or as may wait in their memory."""
    by_cpu = vcpu * terms.given.busy / usage.cpu_seconds
    free_mb = max(0.0, gb * 1_024 - usage.process_mb)
    waiting = free_mb / terms.given.run_mb / usage.seconds if terms.given.run_mb else math.inf
    return tasks * min(by_cpu, waiting) * SECONDS


def _task_usd(found: tuple[int, float, float], terms: Terms) -> float:
    tasks, vcpu, gb = found
    prices = terms.prices
    return prices.of("fargate_vcpu_hour", tasks * vcpu * HOURS) + prices.of("fargate_gb_hour", tasks * gb * HOURS)


def _network(usage: Usage, runs: float, terms: Terms, tasks: int) -> list[Line]:
    rate = runs / SECONDS
    units = max(rate / LCU_CONNECTIONS, rate * usage.seconds / LCU_ACTIVE, rate * 3_600 * usage.streamed_gb / LCU_GB_HOUR)
    addresses = BALANCER_ADDRESSES + tasks
    return [
        Line("network", "load balancer", 1, "balancer", terms.prices.of("alb_hour", HOURS)),
        Line("network", "its capacity units", units, "LCU", terms.prices.of("lcu_hour", units * HOURS)),
        Line("network", "public addresses", addresses, "address", terms.prices.of("ipv4_hour", addresses * HOURS)),
    ]


def _database(usage: Usage, runs: float, terms: Terms, zones: int) -> tuple[str, int, list[Line]]:
    """Its class, how many there are, and what they cost; a standby in another zone costs as much again."""
    given, prices = terms.given, terms.prices
    needed = runs / SECONDS * given.peak * usage.calls / given.statements_a_vcpu
    name, count, price, quantity = _database_class(needed)
    size = max(given.least_database_gb, runs * given.kept_months * (usage.table_gb + usage.object_gb))
    return (
        name,
        count,
        [
            Line("Postgres", "instances", count * zones, name, prices.of(price, quantity * zones * HOURS)),
            Line("Postgres", "threads kept", size * zones, "GB-month", prices.of("postgres_gb_month", size * zones)),
        ],
    )


def _database_class(needed: float) -> tuple[str, int, Name, float]:
    """Name, how many, its price, and how much of that price's unit."""
    if needed <= BURSTING[0][0]:
        return "db.t4g.micro", 1, "postgres_micro_hour", 1
    if needed <= BURSTING[1][0]:
        return "db.t4g.medium", 1, "postgres_medium_hour", 1
    count = math.ceil(needed / LARGEST)
    vcpu = max(SMALLEST, 2 ** math.ceil(math.log2(needed / count)))
    return f"db.m7g with {vcpu} vCPU", count, "postgres_vcpu_hour", float(count * vcpu)


def _same(usage: Usage, runs: float, terms: Terms) -> list[Line]:
    """Logs without Lambda's own lines would be less; they, the metrics of the runs and the model are as with us."""
    prices, given = terms.prices, terms.given
    logged, sent = usage.log_gb * runs, usage.streamed_gb * runs
    lines = [
        Line(
            "logs", "written and kept", logged, "GB", prices.of("logs_gb", logged) + prices.of("logs_gb_month", logged * given.log_months)
        ),
        Line("egress", "to the internet", sent, "GB", prices.of("egress_gb", sent)),
    ]
    lines.append(metrics_line(runs, terms))
    if terms.model:
        usd = (usage.input_tokens * terms.model.read + usage.output_tokens * terms.model.written) * runs / 1_000_000
        lines.append(Line("model", "tokens", (usage.input_tokens + usage.output_tokens) * runs, "token", usd))
    return lines
