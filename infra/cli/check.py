"""`agents check`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

_COLOURS = {"ok": "green", "note": "yellow", "fail": "red"}


def check(as_json: Annotated[bool, typer.Option("--json", help="Print the results as one JSON list.")] = False) -> None:
    """Settings, model and key, store, port, node: what works, what does not, and how to mend it.

    Exit code 1 if something does not work.
    """
    from infra.cli.checks import CHECKS

    results = [run() for run in CHECKS]
    if as_json:
        typer.echo(json.dumps([result.as_dict() for result in results], ensure_ascii=False, indent=2))
    else:
        for result in results:
            typer.echo(f"{typer.style(f'{result.status:<5}', fg=_COLOURS[result.status])} {result.name:<9} {result.detail}")
            if result.mend:
                typer.echo(f"{'':15} → {result.mend}")
    raise typer.Exit(1 if any(result.status == "fail" for result in results) else 0)
