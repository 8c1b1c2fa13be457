"""`agents threads`: the stored conversations, listed, shown, deleted. No agent has to run, and no model is asked."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.place import On, Principal, explaining, fail, find_place

if TYPE_CHECKING:
    from functions.store.checkpoints import DynamoDBSaver
    from functions.store.threads import Conversation
    from infra.cli.place import Place

AgentName = Annotated[str, typer.Option("--agent", help="The agent whose thread it is.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ITEMS = {"c": "checkpoint", "w": "task with pending writes", "p": "part of a large payload"}


def list_threads(
    agent: Annotated[str | None, typer.Option(help="Only those of this agent.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the latest.")] = 20,
    as_json: Json = False,
    principal: Principal = None,
    on: On = "auto",
) -> None:
    """The conversations, the latest first."""
    from infra.cli.conversation import row_json, row_line

    with explaining():
        place = find_place(on, principal)
        rows = latest(place, agent, limit)
    if as_json:
        typer.echo(json.dumps([row_json(row) for row in rows], ensure_ascii=False, indent=2))
    elif not rows:
        typer.echo(f"No conversations of {place.principal} in {place.name}.", err=True)
    widths = max((len(row.agent) for row in rows), default=0), max((len(row.thread_id) for row in rows), default=0)
    for row in () if as_json else rows:
        typer.echo(row_line(row, widths))


def latest(place: Place, agent: str | None, limit: int) -> list[Conversation]:
    found: list[Conversation] = []
    cursor: str | None = None
    while True:
        page = place.threads.list(place.principal, limit=max(limit, 100) if agent else limit, cursor=cursor)
        found += [row for row in page.rows if agent in (None, row.agent)]
        cursor = page.cursor
        if len(found) >= limit or cursor is None:
            return found[:limit]


def show_thread(
    thread: Annotated[str, typer.Argument(help="The thread's id.")],
    agent: AgentName,
    as_json: Annotated[bool, typer.Option("--json", help="Print AG-UI messages, interrupts and state as one JSON object.")] = False,
    principal: Principal = None,
    on: On = "auto",
) -> None:
    """One conversation: its messages, the questions that are open, its state."""
    import asyncio

    from infra.cli.conversation import told

    with explaining():
        place = find_place(on, principal)
        found = asyncio.run(read(place, agent, thread))
    if found is None:
        fail(unknown(place, agent, thread))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for line in told(found, agent, place.settings.function_urls.get(agent)):
        typer.echo(line)


async def read(place: Place, agent: str, thread_id: str) -> dict[str, Any] | None:
    """The thread as its routes give it; None if there is none."""
    from functions.runs.agents import UnknownAgent
    from functions.runs.thread import public_keys, public_state, read_thread
    from functions.web.served import serve_agent
    from graphs.stream import map_interrupts, messages_to_agui

    try:
        # a model is never asked here, so none has to be installed and no key has to be set
        served = serve_agent(agent, place.settings.model_copy(update={"model": "offline"}), checkpointer=place.saver)
    except UnknownAgent as exc:
        fail(str(exc), code=2)
    thread = await read_thread(served.graph(place.principal), {"configurable": {"thread_id": thread_id}})
    if not thread.exists:
        return None
    return {
        "threadId": thread_id,
        "messages": [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in messages_to_agui(thread.messages)],
        "interrupts": [one.model_dump(mode="json", by_alias=True) for one in map_interrupts(thread.interrupts, thread.messages)],
        "state": public_state(thread, public_keys(served.agent.graph, served.state_keys)),
    }


def delete_thread(
    thread: Annotated[str, typer.Argument(help="The thread's id.")],
    agent: AgentName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    principal: Principal = None,
    on: On = "auto",
) -> None:
    """One conversation with all its checkpoints, writes, objects and events. A run that is at work on it is stopped first."""
    import asyncio

    from functions.runs.deleting import delete_thread as delete_whole
    from functions.runs.lease import RunInProgress
    from functions.store.keys import owner

    with explaining():
        place = find_place(on, principal)
        saver = place.saver.for_principal(owner(agent, place.principal))
        what = contents(place, agent, saver, thread)
        if not what:
            fail(unknown(place, agent, thread))
        typer.echo(f"Thread {thread} of {agent} in {place.name}: {', '.join(what)}.")
        if not yes and not typer.confirm("Delete all of it?"):
            raise typer.Exit(1)
        try:
            asyncio.run(delete_whole(saver, thread))
        except RunInProgress as busy:
            fail(f"Run {busy.run_id} is in progress on it and does not end: wait for its end, and repeat the command.")
        place.threads.delete(place.principal, thread, agent=agent)
    typer.echo("Deleted.")


def contents(place: Place, agent: str, saver: DynamoDBSaver, thread: str) -> list[str]:
    """What there is of a thread, counted; empty if there is nothing."""
    from functions.store.clients import Calls
    from functions.store.table import Table
    from functions.store.upkeep import EVERYTHING

    pk = saver.partition(thread)
    table = Table(place.checkpoints_table, place.client, Calls())
    kinds = Counter(item["sk"]["S"][0] for page in table.query(pk, *EVERYTHING, ProjectionExpression="sk") for item in page)
    row = place.threads.get(place.principal, thread, agent=agent)
    what = [f"its row ({row.title!r})"] if row else []
    numbers = {name: kinds.pop(kind, 0) for kind, name in ITEMS.items()} | {"record of its runs": kinds.total()}
    what += [_counted(number, name) for name, number in numbers.items() if number]
    if what and place.bucket and (objects := _objects(place, pk)):
        what.append(_counted(objects, "object", f" in s3://{place.bucket}"))
    return what


def _objects(place: Place, pk: str) -> int:
    from functions.store.clients import s3_client
    from functions.store.payloads import Objects

    client, bucket = place.objects or s3_client(), place.bucket or ""
    prefix = Objects(client, bucket, place.checkpoints_table).prefix(pk)
    return sum(page["KeyCount"] for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix))


def _counted(number: int, name: str, where: str = "") -> str:
    head, _, rest = name.partition(" ")
    return f"{number} {head}{'' if number == 1 else 's'}{' ' + rest if rest else ''}{where}"


def unknown(place: Place, agent: str, thread: str) -> str:
    return f"{place.principal} has no thread {thread} with {agent} in {place.name}. What there is: agents threads list"
