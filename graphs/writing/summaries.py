"""A short note for each change, by one silent call."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from graphs.completion import Completion, Prompt
from graphs.writing.hunks import Hunk
from graphs.writing.json_text import extract_json
from graphs.writing.prompts import SUMMARIES_PROMPT

SUMMARY_CHARS = 20
ASKED_HUNKS = 100
"""More changes than this, and the rest goes without a note: nobody reads them, and the question must stay short."""
SHOWN_CHARS = 400
"""Of each side of a change, in the question."""

_log = logging.getLogger(__name__)


async def summarize(hunks: Sequence[Hunk], complete: Completion) -> list[str]:
    """One note of at most 20 characters for each hunk; "" where the model gave none. No hunks: no call.

    A failed call costs the notes, not the run: the rewritten text is there already.
    """
    if not hunks:
        return []
    try:
        answer = await complete(Prompt(SUMMARIES_PROMPT, _question(hunks[:ASKED_HUNKS]), temperature=0))
    except Exception:  # noqa: BLE001 - whatever a provider's client raises
        _log.warning("the changes have no summaries: the call failed", exc_info=True)
        return [""] * len(hunks)
    notes = _notes(extract_json(answer))
    return [_note(notes[i]) if i < len(notes) else "" for i in range(len(hunks))]


def _question(hunks: Sequence[Hunk]) -> str:
    shown = [
        {"index": i, "originalText": hunk.original_text[:SHOWN_CHARS], "newText": hunk.new_text[:SHOWN_CHARS]}
        for i, hunk in enumerate(hunks)
    ]
    return json.dumps(shown, ensure_ascii=False)


def _notes(answer: Any) -> Sequence[Any]:
    """`{"summaries": […]}`, or the list alone."""
    notes = answer.get("summaries") if isinstance(answer, Mapping) else answer
    return notes if isinstance(notes, list) else []


def _note(note: Any) -> str:
    return " ".join(note.split())[:SUMMARY_CHARS] if isinstance(note, str) else ""
