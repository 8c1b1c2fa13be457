"""What a client may set on reactAgent: `forwardedProps.reactAgent`, then `input.state`, then the default, field by field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, trunc
from typing import Any, TypeVar

from graphs.catalog import Options
from graphs.knowledge.base_id import clean_kb_id

USER_PROMPT_CHARS = 32_000
MAX_STEPS = 200
DEFAULT_STEPS = 50

T = TypeVar("T")


def read(state: Mapping[str, Any], forwarded: Mapping[str, Any]) -> Options:
    """userPrompt: text of at most 32,000 characters. kbId: trimmed, at most 128. maxSteps: a whole number in 1..200, the step limit."""
    own = forwarded.get("reactAgent")
    sources = (own if isinstance(own, Mapping) else {}, state)
    texts = {"userPrompt": _first(sources, ("userPrompt",), _user_prompt), "kbId": _first(sources, ("kbId",), clean_kb_id)}
    steps = _first(sources, ("maxSteps", "maxToolRounds"), _steps)  # the second is its old name
    return Options({name: text for name, text in texts.items() if text}, steps or DEFAULT_STEPS)


def _first(sources: tuple[Mapping[str, Any], ...], names: tuple[str, ...], clean: Callable[[Any], T | None]) -> T | None:
    cleaned = (clean(source.get(name)) for source in sources for name in names)
    return next((value for value in cleaned if value is not None), None)


def _user_prompt(value: Any) -> str | None:
    return value[:USER_PROMPT_CHARS] if isinstance(value, str) else None


def _steps(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return min(max(trunc(value), 1), MAX_STEPS)
