"""The questions of an interrupted run: asked at the terminal, or printed with the command that answers them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import typer

from infra.cli.agui import Event
from infra.cli.show import clean

Prompt = Callable[[str], str]


class NotAnAnswer(Exception):
    """`--resume` cannot be used for what the thread waits for; the message says why."""


def payload_of(interrupt: Event) -> Event:
    """What the graph handed to `interrupt()`, as far as it is an object."""
    payload = (interrupt.get("metadata") or {}).get("payload")
    return payload if isinstance(payload, dict) else {}


def ask(interrupt: Event, prompt: Prompt) -> Event:
    """Asks one question → the `resume` entry that answers it."""
    payload = payload_of(interrupt)
    kind = str(payload.get("type") or interrupt.get("reason"))
    typer.echo(describe(interrupt))
    return resolved(interrupt["id"], _ASKERS.get(kind, _ask_json)(payload, prompt))


def resolved(interrupt_id: str, payload: Any) -> Event:
    return {"interruptId": interrupt_id, "status": "resolved", "payload": payload}


def describe(interrupt: Event) -> str:
    """The question as text: message, details, numbered options."""
    payload = payload_of(interrupt)
    title = payload.get("title") or interrupt.get("message") or payload.get("message") or interrupt.get("reason")
    lines = [f"? {title}"]
    if body := payload.get("body"):
        lines.append(str(body))
    if details := payload.get("details"):
        lines.append(json.dumps(details, ensure_ascii=False, indent=2))
    lines += [f"  {number}. {label}" for number, (label, _value) in enumerate(options_of(payload), 1)]
    return clean("\n".join(lines))


def options_of(payload: Event) -> list[tuple[str, str]]:
    """(label, value) of what can be chosen: options of a select, actions of a modal."""
    options = [(str(option.get("label", option.get("value"))), str(option.get("value"))) for option in payload.get("options") or []]
    return options + [(str(action), str(action)) for action in payload.get("actions") or []]


def how_to_resume(agent: str, thread: str, url: str | None, interrupts: Sequence[Event], state: Event | None = None) -> str:
    """The command that answers what is open, with an example of an answer and the shared state that the run was given."""
    if len(interrupts) == 1:
        example: Any = _example(payload_of(interrupts[0]))
    else:
        example = [resolved(interrupt["id"], _example(payload_of(interrupt))) for interrupt in interrupts]
    words = ["agents", "invoke", agent, "--thread", thread, *(["--url", url] if url else [])]
    if state:
        words += ["--state", json.dumps(state, ensure_ascii=False)]
    return clean(shlex.join([*words, "--resume", json.dumps(example, ensure_ascii=False)]))


def resume_entries(text: str, open_interrupts: Callable[[], list[Event]]) -> list[Event]:
    """`--resume`: a list of entries, one entry, or the bare answer to the one interrupt that is open.

    Raises `NotAnAnswer`.
    """
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise NotAnAnswer(f"--resume is not JSON: {exc}") from exc
    entries = value if isinstance(value, list) else [value]
    if entries and all(isinstance(entry, dict) and "interruptId" in entry for entry in entries):
        return [{"status": "resolved", **entry} for entry in entries]
    waiting = open_interrupts()
    if len(waiting) != 1:
        ids = ", ".join(interrupt["id"] for interrupt in waiting) or "none"
        raise NotAnAnswer(
            f"A bare answer needs exactly one open interrupt; open are: {ids}. Name them: [{{'interruptId': …, 'payload': …}}]"
        )
    return [resolved(waiting[0]["id"], value)]


def _ask_input(payload: Event, prompt: Prompt) -> Event:
    return {"value": prompt(clean(str(payload.get("placeholder") or "answer")))}


def _ask_select(payload: Event, prompt: Prompt) -> Event:
    return {"value": _chosen(prompt("number, or your own words"), payload)}


def _ask_multi_select(payload: Event, prompt: Prompt) -> Event:
    words = prompt("numbers or your own words, with commas").split(",")
    return {"values": [_chosen(word, payload) for word in words if word.strip()]}


def _ask_modal(payload: Event, prompt: Prompt) -> Event:
    return {"action": _chosen(prompt("number"), payload)}


def _ask_approval(_payload: Event, prompt: Prompt) -> Event:
    if prompt("approve? (y/n)").strip().lower() in ("y", "yes"):
        return {"approved": True}
    reason = prompt("reason (may be empty)").strip()
    return {"approved": False, **({"reason": reason} if reason else {})}


def _ask_unlock(_payload: Event, prompt: Prompt) -> Event:
    prompt("Enter when it is done")
    return {}


def _ask_json(_payload: Event, prompt: Prompt) -> Any:
    """A kind we do not know: any JSON, or plain text."""
    text = prompt("answer (JSON or text)")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _chosen(text: str, payload: Event) -> str:
    """The value behind a number or a label, else the text itself: an answer outside the options is legitimate."""
    text = text.strip()
    options = options_of(payload)
    if text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1][1]
    return next((value for label, value in options if label == text), text)


def _example(payload: Event) -> Any:
    first = next((value for _label, value in options_of(payload)), "…")
    examples = {
        "input": {"value": "…"},
        "select": {"value": first},
        "multiSelect": {"values": [first]},
        "modal": {"action": first},
        "approval": {"approved": True},
        "unlock": {},
    }
    return examples.get(str(payload.get("type")), "…")


_ASKERS: dict[str, Callable[[Event, Prompt], Any]] = {
    "input": _ask_input,
    "select": _ask_select,
    "multiSelect": _ask_multi_select,
    "modal": _ask_modal,
    "approval": _ask_approval,
    "unlock": _ask_unlock,
}
