"""JSON in what a model wrote: with or without a fence, words before and after it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(r"```[\w-]*")
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"?|[{}\[\]]', re.DOTALL)


def extract_json(text: str) -> Any:
    """The object or array that begins at the first bracket (of the fenced part, if there is a fence); None where that is no JSON."""
    for start in _starts(text):
        if (found := _bracketed(text, start)) is not None:
            return _parsed(found)
    return None


def _starts(text: str) -> Iterator[int]:
    if fence := _FENCE.search(text):
        yield fence.end()
    yield 0


def _bracketed(text: str, start: int) -> str | None:
    """From the first `{` or `[` to where as many close as opened; brackets in strings do not count."""
    opened = re.compile(r"[{\[]").search(text, start)
    if opened is None:
        return None
    depth = 0
    for token in _TOKEN.finditer(text, opened.start()):
        depth += _STEP.get(token[0], 0)
        if depth == 0:
            return text[opened.start() : token.end()]
    return None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
