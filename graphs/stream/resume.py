"""`RunAgentInput.resume[]` → the value of a resume. Pure: what is really open is the checkpoint's business (`functions.runs`)."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from ag_ui.core import ResumeEntry, RunAgentInput

from graphs.stream.interrupts import CANCEL_REASON


class NoResume(Enum):
    """A null answer is an answer, so "no resume" is a value of its own."""

    NO_RESUME = "no resume"


NO_RESUME: Final = NoResume.NO_RESUME


def resolve_resume_from_run_agent_input(input: RunAgentInput) -> Any:
    """One resolved entry → its payload; several → `{interruptId: payload}`; all cancelled → a refusal; none → `NO_RESUME`.

    A mix of resolved and cancelled entries → a map in which each cancelled id has the refusal. `forwardedProps.command.resume` is ignored.
    """
    entries = input.resume or []
    if not entries:
        return NO_RESUME
    if all(is_cancelled(entry) for entry in entries):
        return _refused()
    if len(entries) == 1:
        return entry_payload(entries[0])
    return {e.interrupt_id: _refused() if is_cancelled(e) else entry_payload(e) for e in entries}


def is_cancelled(entry: ResumeEntry) -> bool:
    return str(getattr(entry.status, "value", entry.status)) == "cancelled"


def entry_payload(entry: ResumeEntry) -> Any:
    """A resolved entry's answer; without a payload it is null, not "no resume"."""
    return entry.payload


def _refused() -> dict[str, Any]:
    return {"approved": False, "reason": CANCEL_REASON}
