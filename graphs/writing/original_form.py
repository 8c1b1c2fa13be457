"""A model returns a text in another form than it got it: without outer blanks, with other line ends, in a fence or a tag. What it did not
mean to change must not show as a change."""

from __future__ import annotations

import re

from graphs.writing.hunks import common_lines

_FENCED = re.compile(r"(`{3,})([\w-]*)[ \t]*\r?\n(.*?)(?:\r?\n)?\1", re.DOTALL)
_TAGGED = re.compile(r"<document>(.*)</document>", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(`{3,}+(?!.*`)|~{3,})(.*)$", re.MULTILINE)
_LINE_END = re.compile(r"\r?\n")
_MARKDOWN = ("markdown", "md")


def in_form_of(original: str, text: str) -> str:
    """`text` with the line ends and the outer whitespace of `original`, without a fence or tag around it; empty stays empty.

    Costs what `compute_hunks` costs where the line ends of `original` differ.
    """
    body = text.strip() if original.lstrip().startswith(("```", "<document>")) else _unwrapped(text.strip())
    if not body:
        return ""
    inner = original.strip()
    start = original.find(inner)
    return original[:start] + _with_line_ends(original, inner, body) + original[start + len(inner) :]


def _unwrapped(text: str) -> str:
    if tagged := _TAGGED.fullmatch(text):
        return tagged[1].strip()
    if (fenced := _FENCED.fullmatch(text)) and _is_wrapper(text, fenced[2], fenced[3]):
        return fenced[3].strip()
    return text


def _is_wrapper(text: str, language: str, inner: str) -> bool:
    """Whether the first fence is closed by the last: not where a text begins with one code block and ends with another.

    CommonMark has no blocks in blocks unless the outer fence is longer, models write them: then one fence is left over. Where none is,
    both readings are whole, and a fence that says Markdown is a wrapper.
    """
    blocks, whole = _code_blocks(text)
    return _code_blocks(inner)[1] and (blocks == 1 or not whole or language in _MARKDOWN)


def _code_blocks(text: str) -> tuple[int, bool]:
    """How many fences open a block, and whether each block is closed."""
    blocks, opened = 0, ""
    for fence, info in _FENCE.findall(text):
        if not opened:
            blocks, opened = blocks + 1, fence
        elif fence.startswith(opened) and not info.strip():
            opened = ""
    return blocks, not opened


def _with_line_ends(original: str, inner: str, text: str) -> str:
    """A line that the original has ends as it does there, a new one as the one that was in its place."""
    ends: list[str] = _LINE_END.findall(inner) or _LINE_END.findall(original)
    if not ends:
        return text
    lines = _LINE_END.split(text)
    if len(set(ends)) == 1:
        return ends[0].join(lines)
    places = {new: old for old, new in common_lines(_LINE_END.split(inner), lines)}
    ended, place = [], 0
    for i, line in enumerate(lines[:-1]):
        place = places.get(i, place)
        ended.append(line + ends[min(place, len(ends) - 1)])
        place += 1
    return "".join([*ended, lines[-1]])
