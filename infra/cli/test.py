"""`agents test`."""

from __future__ import annotations

import typer

from infra.cli.chromium import UNAVAILABLE, ensure_chromium
from infra.cli.tooling import NoUv, run_with


def test(context: typer.Context) -> None:
    """Install what the tests need and run them. Arguments go to pytest."""
    chosen: list[str] = []
    if not ensure_chromium():
        typer.secho(UNAVAILABLE, err=True, bold=True)
        chosen = ["-m", "not browser"]
    try:
        code = run_with(["dev", "infra"], ["python", "-m", "pytest", *chosen, *context.args])
    except NoUv as exc:
        typer.echo(str(exc), err=True)
        raise typer.Exit(2) from exc
    if chosen:
        # again at the end: the first notice has scrolled away
        typer.secho(UNAVAILABLE, err=True, bold=True)
    raise typer.Exit(code)
