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
    body = body.replace("\r\n", "\n")
    if _is_crlf(original):
        body = body.replace("\n", "\r\n")
    inner = original.strip()
    start = original.find(inner)
    return original[:start] + body + original[start + len(inner) :]


def _unwrapped(text: str) -> str:
    whole = _WRAPPED.fullmatch(text)
    inner = (whole[1] or whole[2] or "") if whole else text
    return text if whole and "```" in (whole[1] or "") else inner.strip()


def _is_crlf(text: str) -> bool:
    """Every line ends in CRLF."""
    ends = text.count("\n")
    return 0 < ends == text.count("\r\n")
