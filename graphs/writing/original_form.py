"""A model returns a text in another form than it got it: without outer blanks, with other line ends, in a fence or a tag. What it did not
mean to change must not show as a change."""

from __future__ import annotations

import re

_WRAPPED = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?```|<document>(.*)</document>", re.DOTALL)


def in_form_of(original: str, text: str) -> str:
    """`text` with the line ends and the outer whitespace of `original`, without a fence or tag around it; empty stays empty."""
    body = text.strip() if original.lstrip().startswith(("```", "<document>")) else _unwrapped(text.strip())
    if not body:
        return ""
    if (end := _line_end(original)) is not None:
        body = body.replace("\r\n", "\n").replace("\n", end)
    inner = original.strip()
    start = original.find(inner)
    return original[:start] + body + original[start + len(inner) :]


def _unwrapped(text: str) -> str:
    whole = _WRAPPED.fullmatch(text)
    inner = (whole[1] or whole[2] or "") if whole else text
    return text if whole and "```" in (whole[1] or "") else inner.strip()


def _line_end(text: str) -> str | None:
    """The end that all lines have; None where they differ, or where there is but one line."""
    ends, pairs = text.count("\n"), text.count("\r\n")
    if not ends or 0 < pairs < ends:
        return None
    return "\r\n" if pairs else "\n"
