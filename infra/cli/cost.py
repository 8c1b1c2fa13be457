"""`agents cost`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from infra.costs.bill import Terms
    from infra.costs.prices import Prices
    from infra.costs.report import Report


def cost(
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent; may be repeated. Without it all that can be deployed.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs a month, instead of a thousand, a million and a thousand million.")] = None,
    memory: Annotated[int | None, typer.Option(help="Of a function, in MB; by default as cdk.json deploys it.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.001, max=900, help="Duration of a run, instead of the computed one.")] = None,
    region: Annotated[str, typer.Option(help="Whose prices.")] = "us-east-1",
    prices: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help='JSON that replaces some: {"prices": {NAME: dollars}, "assumptions": {NAME: number}}.'
        ),
    ] = None,
    model_price: Annotated[
        str | None, typer.Option(help="READ,WRITTEN: dollars of a million tokens of the model, which is paid beside AWS.")
    ] = None,
    snap_start: Annotated[bool, typer.Option("--snap-start", help="With SnapStart on.")] = False,
    plot: Annotated[Path | None, typer.Option(dir_okay=False, help="Also draw dollars by runs into this SVG.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """What runs cost on AWS, by agent and by month, beside a standing container; from counters measured on this project.

    Exit code 2: something it was given is wrong.
    """
    from infra.costs.plot import svg
    from infra.costs.report import as_json as told
    from infra.costs.report import as_text

    report = _report(agent or [], runs, memory, seconds, _terms(region, prices, model_price, snap_start))
    typer.echo(json.dumps(told(report), indent=2, ensure_ascii=False) if as_json else as_text(report))
    if plot:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot.write_text(svg(report), encoding="utf-8", newline="\n")


def _report(agents: list[str], runs: int | None, memory: int | None, seconds: float | None, terms: Terms) -> Report:
    from dataclasses import replace

    from infra.costs.comparison import SCALES
    from infra.costs.counters import measured_counters
    from infra.costs.report import report_of
    from infra.costs.usage import usage_of
    from infra.deployment import Deployment, project_context

    counters, deployment = measured_counters(), Deployment.model_validate(project_context())
    names = list(dict.fromkeys(agents)) or list(counters.agents)
    if unknown := [name for name in names if name not in counters.agents]:
        raise typer.BadParameter(
            f"{', '.join(unknown)}: no counters; there are those of {', '.join(counters.agents)}", param_hint="--agent"
        )
    try:
        usages = {
            name: usage_of(name, counters, terms.given, deployment.memory_of(name) if memory is None else memory, seconds) for name in names
        }
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint="--memory") from exc
    return report_of(usages, SCALES if runs is None else (runs,), replace(terms, agents=len(names)), counters.measured)


def _terms(region: str, file: Path | None, model_price: str | None, snap_start: bool) -> Terms:
    from infra.costs.assumptions import Assumptions
    from infra.costs.bill import Terms
    from infra.costs.prices import UnknownRegion, prices_of

    try:
        prices, given = prices_of(region), Assumptions()
    except UnknownRegion as exc:
        raise typer.BadParameter(str(exc), param_hint="--region") from exc
    if file:
        prices, given = _replaced(file, prices)
    return Terms(prices, given, snap_start=snap_start, model=None if model_price is None else _model(model_price))


def _replaced(file: Path, prices: Prices) -> tuple[Prices, Any]:
    from infra.costs.assumptions import Assumptions

    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or (unknown := sorted(found.keys() - {"prices", "assumptions"})):
            raise ValueError(f"{unknown if isinstance(found, dict) else 'it'} is neither `prices` nor `assumptions`")
        return prices.replaced(found.get("prices", {})), Assumptions.model_validate(found.get("assumptions", {}))
    except (OSError, ValueError, AttributeError) as exc:
        raise typer.BadParameter(f"{file}: {exc}", param_hint="--prices") from exc


def _model(text: str) -> Any:
    from infra.costs.bill import Model

    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError as exc:
        raise typer.BadParameter(f"{text!r} is not two numbers with a comma between", param_hint="--model-price") from exc
    if not (0 <= read < float("inf") and 0 <= written < float("inf")):
        raise typer.BadParameter("a price is not negative", param_hint="--model-price")
    return Model(read, written)
