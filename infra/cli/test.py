"""`agents test`."""

from __future__ import annotations

import typer

from infra.cli.chromium import UNAVAILABLE, ensure_chromium
from infra.cli.tooling import NoUv, run_with

SIDE_BY_SIDE = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]
"""A file stays in one process: its stack or its synthesised app is made once. More than four stacks only wait for each other."""


def test(context: typer.Context) -> None:
    """Install what the tests need and run them. Arguments go to pytest."""
    chosen: list[str] = [] if "-n" in context.args or "--pdb" in context.args else [*SIDE_BY_SIDE]
    browser = ensure_chromium()
    if not browser:
        typer.secho(UNAVAILABLE, err=True, bold=True)
        chosen += ["-m", "not browser"]
    try:
        code = run_with(["dev", "infra"], ["python", "-m", "pytest", *chosen, *context.args])
    except NoUv as exc:
        typer.echo(str(exc), err=True)
        raise typer.Exit(2) from exc
    if not browser:
        # again at the end: the first notice has scrolled away
        typer.secho(UNAVAILABLE, err=True, bold=True)
    raise typer.Exit(code)
