"""Heading-aware chunks of a Markdown text. Sizes are in code points, so Chinese and English count alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

CHUNK_SIZE = 800
OVERLAP = 120

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
# where a chunk may end, best first: paragraph, line, sentence, word
_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"[。！？；]|[.!?;]\s"), re.compile(r"[，、\s]"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A fragment of a document: its text, and the headings it stands under (the document's title first)."""

    kb_id: str
    doc_id: str
    chunk_id: str
    headings: tuple[str, ...]
    text: str
    page: int | None = None

    @property
    def link(self) -> str:
        """Where the page shows it: `/kb?doc=<docId>&chunk=<id>[&p=<page>]`, form-encoded."""
        page = {} if self.page is None else {"p": str(self.page)}
        return f"/kb?{urlencode({'doc': self.doc_id, 'chunk': self.chunk_id, **page})}"

    @property
    def citation(self) -> str:
        """The Markdown link to cite it with."""
        return f"[{self.label}]({self.link})"

    @property
    def label(self) -> str:
        """What a link to it says: its headings, as Markdown."""
        return re.sub(r"([\[\]\\])", r"\\\1", " › ".join(self.headings) or self.doc_id)


def chunk_markdown(markdown: str, *, kb_id: str, doc_id: str) -> list[Chunk]:
    """The document's chunks in reading order, ids `"0"`, `"1"` …; no chunk crosses a heading or is longer than `CHUNK_SIZE`."""
    pieces = ((headings, piece) for headings, body in _sections(markdown) for piece in _windows(body))
    return [Chunk(kb_id, doc_id, str(i), headings, text) for i, (headings, text) in enumerate(pieces)]


def _sections(markdown: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """(headings above, text) of each stretch between two headings; `#` inside a fenced block is no heading."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        fenced ^= _FENCE.match(line) is not None
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        yield tuple(title for _, title in path), "\n".join(lines).strip()
        lines = []
        path = [(level, title) for level, title in path if level < len(heading[1])] + [(len(heading[1]), heading[2])]
    yield tuple(title for _, title in path), "\n".join(lines).strip()


def _windows(text: str) -> Iterator[str]:
    """The text in windows of at most CHUNK_SIZE; each but the first starts with the last OVERLAP code points of the one before."""
    start = 0
    while start < len(text):
        end = _end(text, start)
        yield text[start:end].strip()
        if end == len(text):
            return
        start = end - OVERLAP


def _end(text: str, start: int) -> int:
    limit = start + CHUNK_SIZE
    if limit >= len(text):
        return len(text)
    floor = start + CHUNK_SIZE // 2
    for pattern in _BREAKS:
        if ends := [match.end() for match in pattern.finditer(text, floor, limit)]:
            return ends[-1]
    return limit
