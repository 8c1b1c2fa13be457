"""`python -m tests.bench.dashboard`: the deployed dashboard over a simulated day.

Real: the runs, by worker processes with the offline model, what each wrote for CloudWatch, and the dashboard, read from the synthesised
template. Simulated: when runs come, which of the recorded ones they are, and how many environments that takes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.__main__ import write
from tests.bench.dashboard.board import lambda_dimensions, widgets
from tests.bench.dashboard.cloudwatch import CloudWatch
from tests.bench.dashboard.day import DAY_MS, START, Invocation, simulate
from tests.bench.dashboard.drawing import svg
from tests.bench.dashboard.recording import ASKED, Recorded, record
from tests.bench.report import environment
from tests.support.emf import Point
from tests.support.worker import KEYS

TITLE = "The stack's CloudWatch dashboard over a simulated day (simulated arrivals, runs recorded on one machine)"


def template(agents: Sequence[str]) -> Mapping[str, Any]:
    """The stack of these agents, as `cdk synth` makes it; without bundles, which no dashboard shows."""
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
    os.environ.setdefault("CDK_VALIDATION", "false")
    from infra.app import build_app

    with tempfile.TemporaryDirectory() as folder:
        app = build_app({"agents": ",".join(agents), "assets": f"{folder}/none"}, outdir=f"{folder}/out")
        found: Mapping[str, Any] = app.synth().stacks[0].template
    return found


def lambdas_own(day: Sequence[Invocation], dimensions: Mapping[str, tuple[tuple[str, str], ...]]) -> Iterator[Point]:
    """What Lambda reports of an invocation that ended without an error of its own."""
    for invocation in day:
        own, end = dimensions[invocation.run.agent], invocation.at + int(invocation.run.held_ms)
        for name, unit, value in (("Invocations", "Count", 1.0), ("Errors", "Count", 0.0), ("Throttles", "Count", 0.0)):
            yield Point("AWS/Lambda", name, unit, own, invocation.at, value)
        yield Point("AWS/Lambda", "Duration", "Milliseconds", own, end, invocation.run.held_ms)


def picture(recorded: Sequence[Recorded], runs_a_day: int, found: Mapping[str, Any]) -> str:
    day = simulate(recorded, runs_a_day)
    points = [point for invocation in day for point in invocation.points()]
    cloudwatch = CloudWatch([*points, *lambdas_own(day, lambda_dimensions(found))], START, DAY_MS)
    where = environment()
    caption = (
        f"Simulated: the arrivals of {len(day):,} runs, which recorded run each is, the environments, and an outage from 15:00 to 15:30. "
        "AWS was not asked.",
        f"Recorded: {len(recorded)} runs of the offline agents in worker processes ({where['machine']}, Python {where['python']}, "
        f"{where['date'][:10]}); every number is what they wrote for CloudWatch.",
    )
    return svg([(widget, widget.lines(cloudwatch)) for widget in widgets(found)], TITLE, caption)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.dashboard", description=__doc__)
    parser.add_argument("--recorded", type=int, default=80, help="real runs of each agent (default 80)")
    parser.add_argument("--runs", type=int, default=2_500, help="simulated runs of each agent in the day (default 2500)")
    parser.add_argument("--agent", action="append", choices=list(ASKED), help="which agents (default all)")
    parser.add_argument("--plot", type=Path, default=Path(".github/images/dashboard.svg"), help="where the picture goes")
    options = parser.parse_args(arguments)
    agents = options.agent or list(ASKED)
    os.environ |= KEYS | {"AWS_EC2_METADATA_DISABLED": "true"}
    with tempfile.TemporaryDirectory() as folder:
        recorded = record(options.recorded, Path(folder), agents)
    write(options.plot, picture(recorded, options.runs, template(agents)))
    sys.stdout.write(f"{len(recorded)} runs recorded, the picture is {options.plot}\n")


if __name__ == "__main__":
    main()
