"""`agents invoke`."""

from __future__ import annotations

import json
import sys
import uuid
from typing import Annotated, Any

import typer


def invoke(
    name: Annotated[str, typer.Argument(help="The agent.")],
    text: Annotated[str | None, typer.Argument(help="What to say to it.")] = None,
    thread: Annotated[str | None, typer.Option(help="Go on with this thread; without it a new one begins.")] = None,
    resume: Annotated[
        str | None,
        typer.Option(help="Answers what the thread waits for: JSON, the answer itself or a list of {interruptId, status, payload}."),
    ] = None,
    url: Annotated[str | None, typer.Option(help="The agent's function URL; by default that of `agents dev`.")] = None,
    state: Annotated[str, typer.Option(help='Shared state that goes along, a JSON object: \'{"documentBaseline": "…"}\'.')] = "{}",
    token: Annotated[
        str | None,
        typer.Option(envvar="AGENTS_TOKEN", help="Bearer token of a deployment with auth `jwt`; it is sent instead of a signature."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events, one JSON object a line.")] = False,
) -> None:
    """One run in the terminal, streamed; interrupts are asked and answered.

    Exit code 0: done, 1: run error, 2: not run, 3: waits for an answer.
    """
    from infra.cli.agui import Agent, NoAnswer
    from infra.cli.ask import NotAnAnswer, resume_entries
    from infra.cli.session import NOT_RUN, Session

    if resume is not None and (thread is None or text is not None):
        raise typer.BadParameter("goes with --thread and without a text", param_hint="--resume")
    given = _object(state)
    thread = thread or str(uuid.uuid4())
    prompt = _prompt if sys.stdin.isatty() else None
    try:
        agent = Agent(url or f"http://127.0.0.1:8000/agents/{name}/", token)
        entries = None if resume is None else resume_entries(resume, lambda: agent.interrupts(thread))
        code = Session(agent, name, thread, url, given, as_json=as_json, prompt=prompt).talk(text=text, resume=entries)
    except (NoAnswer, NotAnAnswer) as exc:
        typer.echo(str(exc), err=True)
        raise typer.Exit(NOT_RUN) from exc
    raise typer.Exit(code)


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"is no JSON: {error}", param_hint="--state") from error
    if not isinstance(given, dict):
        raise typer.BadParameter("has to be a JSON object", param_hint="--state")
    return given


def _prompt(label: str) -> str:
    return str(typer.prompt(label, default="", show_default=False))
