"""JSON in what a model wrote: with or without a fence, words before and after it."""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"```[\w-]*")
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"?|[{}\[\]]', re.DOTALL)


def extract_json(text: str) -> Any:
    """The object or array that begins at the first bracket (of the fenced part, if there is a fence); None where that is no JSON.

    A fence within the JSON is a part of what it says.
    """
    first, fence = _bracketed(text, 0), _FENCE.search(text)
    if fence is None:
        return _parsed(text, first)
    if fence.start() in first and (value := _parsed(text, first)) is not None:
        return value
    return _parsed(text, _bracketed(text, fence.end()) or first)


def _bracketed(text: str, start: int) -> range:
    """From the first `{` or `[` to where as many close as opened, empty where they do not; brackets in strings do not count."""
    opened = re.compile(r"[{\[]").search(text, start)
    if opened is None:
        return range(0)
    depth = 0
    for token in _TOKEN.finditer(text, opened.start()):
        depth += _STEP.get(token[0], 0)
        if depth == 0:
            return range(opened.start(), token.end())
    return range(0)


def _parsed(text: str, at: range) -> Any:
    try:
        return json.loads(text[at.start : at.stop])
    except (ValueError, RecursionError):
        return None
