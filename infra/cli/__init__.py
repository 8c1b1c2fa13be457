"""`agents`: the command line. One command a file; each imports what it needs when it runs, so `agents --help` is quick."""

from __future__ import annotations

import typer

from infra.cli.bench import bench
from infra.cli.check import check
from infra.cli.cost import cost
from infra.cli.dev import dev
from infra.cli.invoke import invoke
from infra.cli.kb import delete_document, import_documents, list_documents
from infra.cli.test import test
from infra.cli.thread_changes import pin_thread, rename_thread, stop_run
from infra.cli.threads import delete_thread, list_threads, show_thread
from infra.cli.threads_import import import_threads

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
app.command()(cost)
app.command(context_settings=PASS_ON)(test)
app.command(context_settings=PASS_ON)(bench)

threads_app = typer.Typer(help="The stored conversations: list, show, delete, import.", no_args_is_help=True)
threads_app.command("list")(list_threads)
threads_app.command("show")(show_thread)
threads_app.command("delete")(delete_thread)
threads_app.command("stop")(stop_run)
threads_app.command("rename")(rename_thread)
threads_app.command("pin")(pin_thread)
threads_app.command("import")(import_threads)
app.add_typer(threads_app, name="threads")

kb_app = typer.Typer(help="Knowledge bases: import documents, list them, delete them.", no_args_is_help=True)
kb_app.command("import")(import_documents)
kb_app.command("list")(list_documents)
kb_app.command("delete")(delete_document)
app.add_typer(kb_app, name="kb")


def main() -> None:
    app()
