"""Citations in an answer: `[n]` and `[^n]` of numbered chunks, checked against them, then turned into their links.

What stands in code is code. An answer that cites nothing is valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_REF = re.compile(r"\[\^?(\d{1,4})\](?!\()")
_LIST = re.compile(r"\[\^?(\d{1,4}(?:\s*[,，、]\s*\^?\d{1,4})+)\](?!\()")
_LINK = re.compile(r"\]\(\s*(/kb\?[^)\s]*)")
_QUOTED = re.compile(r"(?:「([^「」]+)」|“([^“”]+)”|\"([^\"\n]+)\")[\s。，、；：！？.,;:!?]*((?:\[\^?\d{1,4}\](?!\()\s*)+)")
_PUNCTUATION = " \n。，、；：！？…—.,;:!?"
"""At the ends of a quotation it is often the writer's own."""
_IGNORED = re.compile(r"[\s*_`]+")


class Cited(Protocol):
    """A chunk, as far as citations know it."""

    @property
    def text(self) -> str: ...
    @property
    def link(self) -> str: ...
    @property
    def citation(self) -> str: ...


def problems_of(answer: str, chunks: Sequence[Cited]) -> list[str]:
    """What is wrong with the citations, a sentence each, in the order of the text; empty: they are valid.

    Wrong is a number that no chunk has, a quotation (「」, "" or “”) right before numbers whose chunks do not hold it (whitespace, case and
    Markdown's emphasis ignored), and a link to a chunk that was not given.
    """
    return [problem for prose in _prose(_one_by_one(answer)) for problem in _problems(prose, chunks)]


def _problems(prose: str, chunks: Sequence[Cited]) -> Iterator[str]:
    for number in dict.fromkeys(int(found[1]) for found in _REF.finditer(prose)):
        if not 1 <= number <= len(chunks):
            yield f"[{number}] 不存在，片段只有 1 到 {len(chunks)}。"
    for found in _QUOTED.finditer(prose):
        quote = (found[1] or found[2] or found[3]).strip(_PUNCTUATION)
        numbers = [int(ref[1]) for ref in _REF.finditer(found[4])]
        held = [number for number in numbers if 1 <= number <= len(chunks) and _plain(quote) in _plain(chunks[number - 1].text)]
        if not held:
            yield f"引文“{quote}”不在片段 {'、'.join(map(str, numbers))} 中，引文必须与原文一致。"
    given = {chunk.link for chunk in chunks}
    for found in _LINK.finditer(prose):
        if found[1] not in given:
            yield f"链接 {found[1]} 不是给出的片段的链接。"


def with_links(answer: str, chunks: Sequence[Cited]) -> str:
    """The answer with each number as the Markdown link of its chunk; numbers without a chunk stay."""

    def link(found: re.Match[str]) -> str:
        number = int(found[1])
        return chunks[number - 1].citation if 1 <= number <= len(chunks) else found[0]

    return _in_prose(_one_by_one(answer), lambda prose: _REF.sub(link, prose))


def _one_by_one(answer: str) -> str:
    """`[1, 2]` as `[1][2]`."""
    return _in_prose(
        answer, lambda prose: _LIST.sub(lambda found: "".join(f"[{number}]" for number in re.findall(r"\d+", found[1])), prose)
    )


def _in_prose(answer: str, change: Callable[[str], str]) -> str:
    pieces = _CODE.split(answer)  # prose and code in turn, prose first
    return "".join(piece if place % 2 else change(piece) for place, piece in enumerate(pieces))


def _prose(answer: str) -> list[str]:
    return _CODE.split(answer)[::2]


def _plain(text: str) -> str:
    return _IGNORED.sub("", text).casefold()
