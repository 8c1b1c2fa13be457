"""`agents bench`."""

from __future__ import annotations

import typer

from infra.cli.tooling import NoUv, run_with


def bench(context: typer.Context) -> None:
    """Measure the stream, and runs in the store, beside their peers. Arguments go to `python -m tests.bench`."""
    try:
        code = run_with(["bench"], ["python", "-m", "tests.bench", *context.args])
    except NoUv as exc:
        typer.echo(str(exc), err=True)
        raise typer.Exit(2) from exc
    raise typer.Exit(code)
