"""`agents`: the command line. One command a file; each imports what it needs when it runs, so `agents --help` is quick."""

from __future__ import annotations

import typer

from infra.cli.bench import bench
from infra.cli.check import check
from infra.cli.dev import dev
from infra.cli.invoke import invoke
from infra.cli.test import test

app = typer.Typer(
    name="agents",
    help="LangGraph agents on streaming function URLs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""For commands that hand their arguments to another program, `--help` included."""

app.command()(dev)
app.command()(invoke)
app.command()(check)
app.command(context_settings=PASS_ON)(test)
app.command(context_settings=PASS_ON)(bench)


def main() -> None:
    app()
