"""`agents test`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from infra.cli.chromium import UNAVAILABLE, ensure_chromium
from infra.cli.tooling import NoUv, run_with

SIDE_BY_SIDE = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]
"""A file stays in one process: its stack or its synthesised app is made once. More than four stacks only wait for each other."""


def test(context: typer.Context) -> None:
    """Install what the tests need and run them. Arguments go to pytest; `-m long` runs those that take minutes, which are left out else."""
    chosen: list[str] = [] if "-n" in context.args or "--pdb" in context.args else [*SIDE_BY_SIDE]
    browser = ensure_chromium()
    if not browser:
        typer.secho(UNAVAILABLE, err=True, bold=True)
    try:
        code = run_with(["dev", "infra"], ["python", "-m", "pytest", *chosen, *marked(context.args, browser=browser)])
    except NoUv as exc:
        typer.echo(str(exc), err=True)
        raise typer.Exit(2) from exc
    if not browser:
        # again at the end: the first notice has scrolled away
        typer.secho(UNAVAILABLE, err=True, bold=True)
    raise typer.Exit(code)


def marked(arguments: Sequence[str], *, browser: bool) -> list[str]:
    """pytest's arguments with its one `-m`: what was asked for, else all but the long ones, unless files are named."""
    words, wanted = list(arguments), list[str]()
    if "-m" in words[:-1]:
        at = words.index("-m")
        wanted, words[at : at + 2] = [f"({words[at + 1]})"], []
    elif not any(Path(word.partition("::")[0]).exists() for word in words):
        wanted = ["not long"]
    expression = " and ".join([*wanted, *([] if browser else ["not browser"])])
    return [*(["-m", expression] if expression else []), *words]
