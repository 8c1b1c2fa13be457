"""`resume[]` against the checkpoint, which is the truth: what is answered, what is ignored, what stays open."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import fastjsonschema
from ag_ui.core import CustomEvent, ResumeEntry
from langgraph.types import Interrupt

from functions.runs.errors import RunRejected
from graphs.stream import jsonable, map_interrupt_payload, refusal
from graphs.stream.resume import entry_payload, is_cancelled

log = logging.getLogger(__name__)

RESUME_IGNORED = "resume_ignored"
"""CUSTOM name: an entry of `resume[]` that answers nothing. Value: `{interruptId, reason}`, the reason `not open` or `changed` (the graph
was changed and asks something else now)."""


@dataclass(slots=True)
class Answers:
    """`values` goes into `Command(resume=…)` as it is: one entry per covered interrupt, by id, never a bare value."""

    values: dict[str, Any] = field(default_factory=dict)
    ignored: list[CustomEvent] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    """What was answered, by interrupt id: kept in the checkpoint's metadata, so that another answer to the same question is known later."""
    unknown: dict[str, str] = field(default_factory=dict)
    """The same of the entries that answer nothing that is open."""


def match_answers(entries: Sequence[ResumeEntry], open_interrupts: Sequence[Interrupt], changed: Collection[str] = ()) -> Answers:
    """Pairs the entries with the open interrupts; the last entry for an id counts. What was said to a question that is `changed` is no
    answer to what it asks now.

    Raises:
        RunRejected: `INVALID_RESUME`, an answer that its question's schema refuses, or that came after `expiresAt`. Nothing is answered.
    """
    by_id = {interrupt.id: interrupt for interrupt in open_interrupts}
    answers = Answers()
    for entry in entries:
        interrupt = by_id.get(entry.interrupt_id)
        if entry.interrupt_id in changed:
            log.warning("resume for interrupt %r, which asks something else now", entry.interrupt_id)
            answers.ignored.append(_ignored(entry.interrupt_id, "changed"))
        elif interrupt is None:
            log.warning("resume for interrupt %r, which is not open on this thread", entry.interrupt_id)
            answers.ignored.append(_ignored(entry.interrupt_id))
            answers.unknown[entry.interrupt_id] = answer_digest(entry)
        else:
            answers.digests[interrupt.id] = answer_digest(entry)
            answers.values[interrupt.id] = _answer(entry, interrupt)
    return answers


def question_digests(interrupts: Iterable[Interrupt]) -> dict[str, str]:
    """By interrupt, the same for the same question: 16 hex digits."""
    return {one.id: _digest([jsonable(one.value), jsonable(one.response_schema)]) for one in interrupts}


def answer_digest(entry: ResumeEntry) -> str:
    """The same for the same answer: 16 hex digits."""
    return _digest(["cancelled"] if is_cancelled(entry) else ["resolved", jsonable(entry_payload(entry))])


def value_digests(value: Any) -> frozenset[str]:
    """The digests of the answers that a node hears as this value: the payload, or a cancellation."""
    cancellations = (refusal({"type": "approval"}), refusal(None))
    return frozenset([_digest(["resolved", jsonable(value)]), *([_digest(["cancelled"])] if value in cancellations else [])])


def _digest(answer: list[Any]) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]


def _answer(entry: ResumeEntry, interrupt: Interrupt) -> Any:
    schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else None
    shown = map_interrupt_payload(interrupt.id, interrupt.value, schema)
    cancelled = is_cancelled(entry)
    if shown.expires_at and not cancelled and _expired(shown.expires_at):
        raise RunRejected(422, "INVALID_RESUME", f"The question {interrupt.id} has expired. It can only be cancelled.")
    value = refusal(interrupt.value) if cancelled else entry_payload(entry)
    if shown.response_schema:
        _validate(value, shown.response_schema, interrupt.id)
    return value


def _validate(value: Any, schema: dict[str, Any], interrupt_id: str) -> None:
    try:
        check = _validator(json.dumps(schema, sort_keys=True))
    except Exception as error:  # noqa: BLE001 - a foreign schema: a wrong type, a bad pattern, a reference that leads nowhere
        log.warning("the response schema of interrupt %s cannot be used (%r): its node alone checks the answer", interrupt_id, error)
        return
    try:
        check(value)
    except fastjsonschema.JsonSchemaValueException as error:
        raise RunRejected(
            422, "INVALID_RESUME", f"The answer to {interrupt_id} does not have the form that the question asks for ({error.message})."
        ) from error


@functools.lru_cache(maxsize=128)
def _validator(schema: str) -> Callable[[Any], Any]:
    compiled: Callable[[Any], Any] = fastjsonschema.compile(json.loads(schema), use_default=False)
    return compiled


def _expired(expires_at: str) -> bool:
    try:
        moment = datetime.fromisoformat(expires_at)
    except ValueError:
        log.warning("an interrupt's expiresAt %r is not ISO 8601: it does not expire", expires_at)
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) <= datetime.now(UTC)


def _ignored(interrupt_id: str, reason: str = "not open") -> CustomEvent:
    return CustomEvent(name=RESUME_IGNORED, value={"interruptId": interrupt_id, "reason": reason})
