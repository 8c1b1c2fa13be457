"""The system prompt: the user's own part, how to ask, how to cite."""

from __future__ import annotations

from graphs.hitl import ASK_PROMPT
from graphs.knowledge import KB_PROMPT

_SEPARATOR = "\n\n---\n\n"


def system_prompt(user_prompt: str) -> str:
    """The parts joined by `---`; an empty user prompt is left out."""
    return _SEPARATOR.join(part for part in (user_prompt, ASK_PROMPT, KB_PROMPT) if part.strip())
