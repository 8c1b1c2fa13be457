"""One conversation in the terminal: run, ask, resume, until nothing is left to ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import typer

from infra.cli.agui import Agent, Event, run_input
from infra.cli.ask import Prompt, ask, describe, how_to_resume
from infra.cli.show import Screen

OK, RUN_ERROR, NOT_RUN, WAITING = 0, 1, 2, 3
"""Exit codes."""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation until nothing is left to ask, or nobody is there to be asked."""

    agent: Agent
    name: str
    thread: str
    url: str | None
    state: Event
    """Shared state: the client's, so it goes along with every run."""
    as_json: bool
    prompt: Prompt | None
    """Asks the person at the terminal; None where nobody is there."""

    def talk(self, *, text: str | None = None, resume: list[Event] | None = None) -> int:
        """Runs, asks, resumes → the exit code. Raises `NoAnswer`."""
        while True:
            last = self._run(run_input(self.thread, text=text, resume=resume, state=self.state))
            interrupts = open_interrupts(last)
            if not interrupts:
                return _exit_code(last)
            text, resume = None, self._answers(interrupts)
            if resume is None:
                return WAITING

    def _run(self, body: Event) -> Event:
        """One run, shown → its terminal event, {} if it had none."""
        screen = Screen()
        show: Callable[[Event], None] = _print_json if self.as_json else screen.show
        last: Event = {}
        try:
            for event in self.agent.run(body):
                show(event)
                last = event if event["type"] in ("RUN_FINISHED", "RUN_ERROR") else last
        finally:
            screen.end()
        return last

    def _answers(self, interrupts: list[Event]) -> list[Event] | None:
        """Asked at the terminal; None where nobody can be asked, or who is asked leaves (Ctrl-D)."""
        if self.as_json:
            return None
        if self.prompt is not None:
            try:
                return [ask(interrupt, self.prompt) for interrupt in interrupts]
            except (EOFError, typer.Abort):
                typer.echo()
        else:
            for interrupt in interrupts:
                typer.echo(describe(interrupt), err=True)
        command = how_to_resume(self.name, self.thread, self.url, interrupts, self.state)
        typer.echo(f"Waiting for an answer. To give it:\n  {command}", err=True)
        return None


def open_interrupts(last: Event) -> list[Event]:
    """What the run waits for, from its RUN_FINISHED."""
    outcome = last.get("outcome") or {}
    return list(outcome.get("interrupts") or []) if outcome.get("type") == "interrupt" else []


def _exit_code(last: Event) -> int:
    if not last:
        typer.echo("The stream ended before the run did.", err=True)
        return RUN_ERROR
    return RUN_ERROR if last["type"] == "RUN_ERROR" else OK


def _print_json(event: Event) -> None:
    typer.echo(json.dumps(event, ensure_ascii=False))
