"""`agents threads import`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.place import On, Principal, explaining, find_place

if TYPE_CHECKING:
    from functions.store.imports import Copied
    from functions.store.imports.foreign import Source


class Layout(StrEnum):
    """Whose tables they are: `langgraph-checkpoint-` and this."""

    AWS = "aws"
    DYNAMODB = "dynamodb"


def import_threads(
    layout: Annotated[Layout, typer.Option("--from", help="Whose table: langgraph-checkpoint-aws or langgraph-checkpoint-dynamodb.")],
    table: Annotated[str, typer.Option(help="The table with the checkpoints.")],
    agent: Annotated[str, typer.Option(help="The agent that the threads are to belong to.")],
    writes_table: Annotated[str | None, typer.Option(help="--from dynamodb: the table with the writes.")] = None,
    bucket: Annotated[str | None, typer.Option(help="--from aws: the bucket of large payloads, if the saver had one.")] = None,
    key_prefix: Annotated[str, typer.Option(help="--from aws: the saver's key_prefix in that bucket.")] = "",
    principal: Principal = None,
    thread: Annotated[list[str] | None, typer.Option(help="Only this thread; may be given several times.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as one JSON object.")] = False,
    on: On = "auto",
) -> None:
    """Copy threads from the tables of another checkpointer. Nothing there is changed, and nothing here that went on.

    May be repeated: what is new is added. Exit code 1 if a thread could not be copied.
    """
    from functions.store import imports
    from functions.store.keys import owner

    if ":" in agent:
        raise typer.BadParameter("an agent's name holds no colon", param_hint="--agent")
    with explaining():
        source = open_source(layout, table, writes_table, bucket, key_prefix)
        place = find_place(on, principal)
        source.check()
        typer.echo(f"From {table} to the threads of {place.principal} with {title(agent)} in {place.name} …", err=True)
        ids = list(dict.fromkeys(thread)) if thread else source.threads()
        saver = place.saver.for_principal(owner(agent, place.principal))
        listing = imports.Listing(place.threads, place.principal, agent, title(agent))
        results = list(watched(imports.import_threads(source, saver, ids, listing=listing, dry_run=dry_run), len(ids)))
    report(results, dry_run, as_json)
    raise typer.Exit(1 if any(result.failed for result in results) else 0)


def open_source(layout: Layout, table: str, writes_table: str | None, bucket: str | None, key_prefix: str) -> Source:
    """Where the environment says that AWS is, also where the threads come into `agents dev`."""
    from functions.store.clients import dynamodb_client, s3_client
    from functions.store.imports import AwsTable, TwoTables
    from functions.store.imports.aws import Bucket

    if layout is Layout.DYNAMODB:
        if writes_table is None:
            raise typer.BadParameter("is needed: that saver has a second table", param_hint="--writes-table")
        return TwoTables(table, writes_table, client=dynamodb_client())
    return AwsTable(table, client=dynamodb_client(), bucket=Bucket(s3_client(), bucket, key_prefix) if bucket else None)


def title(agent: str) -> str:
    from graphs.catalog import AGENTS

    return AGENTS[agent].title if agent in AGENTS else agent


def watched(results: Iterable[Copied], count: int) -> Iterator[Copied]:
    """A bar on stderr where that is a terminal."""
    with typer.progressbar(results, length=count, label="threads", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield from bar


def report(results: list[Copied], dry_run: bool, as_json: bool) -> None:
    copied = [result for result in results if not result.skipped]
    total = {
        "threads": sum(bool(result.checkpoints or result.writes) for result in copied),
        "checkpoints": sum(result.checkpoints for result in copied),
        "writes": sum(result.writes for result in copied),
        "unchanged": sum(not (result.checkpoints or result.writes) for result in copied),
        "skipped": len(results) - len(copied),
    }
    if as_json:
        typer.echo(json.dumps({"dryRun": dry_run, "total": total, "threads": [entry(result) for result in results]}, ensure_ascii=False))
        return
    from infra.cli.show import clean  # brings httpx

    for result in results:
        for note in (*result.left_out, *([f"skipped: {result.skipped}"] if result.skipped else [])):
            typer.echo(clean(f"{result.thread_id}: {note}"))
    verb = "Would copy" if dry_run else "Copied"
    said = f"{verb} {total['threads']} threads with {total['checkpoints']} checkpoints and {total['writes']} writes"
    typer.echo(f"{said}; {total['unchanged']} had nothing new, {total['skipped']} skipped.")


def entry(result: Copied) -> dict[str, object]:
    return {
        "threadId": result.thread_id,
        "checkpoints": result.checkpoints,
        "writes": result.writes,
        "leftOut": list(result.left_out),
        "skipped": result.skipped or None,
    }
