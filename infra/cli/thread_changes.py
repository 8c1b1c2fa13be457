"""`agents threads stop|rename|pin`: what a page's buttons do, from a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli.place import On, Principal, explaining, fail, find_place
from infra.cli.threads import AgentName, unknown

Thread = Annotated[str, typer.Argument(help="The thread's id.")]


def stop_run(thread: Thread, agent: AgentName, principal: Principal = None, on: On = "auto") -> None:
    """The run that is at work on a thread: told to stop, which it does within two seconds."""
    from functions.store.holders import ask_to_stop
    from functions.store.keys import owner

    with explaining():
        place = find_place(on, principal)
        saver = place.saver.for_principal(owner(agent, place.principal))
        held = ask_to_stop(saver.leases.reader.table, saver.partition(thread))
    if held is None:
        fail(unknown(place, agent, thread))
    if not held.live:
        fail(f"Nothing runs on {thread}. Its last run was {held.run_id}.")
    typer.echo(f"Run {held.run_id} was told to stop.")


def rename_thread(
    thread: Thread,
    title: Annotated[str, typer.Argument(help="Its new title.")],
    agent: AgentName,
    principal: Principal = None,
    on: On = "auto",
) -> None:
    """A conversation: no rule and no model replaces that title."""
    if not title.strip():
        fail("A title is needed.", code=2)
    with explaining():
        place = find_place(on, principal)
        row = place.threads.rename(place.principal, thread, agent=agent, title=title.strip())
    if row is None:
        fail(unknown(place, agent, thread))
    typer.echo(f"{thread} is {row.title!r} now.")


def pin_thread(
    thread: Thread,
    agent: AgentName,
    off: Annotated[bool, typer.Option("--off", help="Among the others again.")] = False,
    principal: Principal = None,
    on: On = "auto",
) -> None:
    """A conversation before all others in the list."""
    with explaining():
        place = find_place(on, principal)
        row = place.threads.pin(place.principal, thread, agent=agent, pinned=not off)
    if row is None:
        fail(unknown(place, agent, thread))
    typer.echo(f"{thread} is {'pinned' if row.pinned else 'not pinned'} now.")
