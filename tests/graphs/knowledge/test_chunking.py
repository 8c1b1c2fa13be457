"""Chunks follow headings, stay in size and overlap."""

from __future__ import annotations

from itertools import pairwise

import pytest

from graphs.knowledge import Chunk, chunk_markdown
from graphs.knowledge.chunking import CHUNK_SIZE, OVERLAP


def chunks(markdown: str) -> list[Chunk]:
    return chunk_markdown(markdown, kb_id="kb", doc_id="doc")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("", []),
        ("# Only a title", []),
        ("plain", [((), "plain")]),
        ("# A\none\n## B\ntwo\n## C\nthree\n# D\nfour", [(("A",), "one"), (("A", "B"), "two"), (("A", "C"), "three"), (("D",), "four")]),
        ("# A\n### C\ndeep\n## B\nless", [(("A", "C"), "deep"), (("A", "B"), "less")]),
        ("# A\n```\n# no heading\n```\nend", [(("A",), "```\n# no heading\n```\nend")]),
        ("#hashtag is text", [((), "#hashtag is text")]),
        ("## 标题 ##\n正文", [(("标题",), "正文")]),
    ],
)
def test_a_chunk_is_a_section(markdown: str, expected: list[tuple[tuple[str, ...], str]]) -> None:
    """Headings become the chunk's path; empty sections and headings in code give none."""
    assert [(chunk.headings, chunk.text) for chunk in chunks(markdown)] == expected


@pytest.mark.parametrize(
    "text",
    ["字" * 2000, "word " * 500, "一句话。" * 500, "line\n" * 500, "para one.\n\n" * 200],
    ids=["cjk", "words", "cjk sentences", "lines", "paragraphs"],
)
def test_long_sections_are_windows_with_an_overlap(text: str) -> None:
    """At most 800 code points each; the next one starts inside the one before; nothing is lost; ids count up."""
    found = chunks(text)
    assert [chunk.chunk_id for chunk in found] == [str(i) for i in range(len(found))]
    assert len(found) > 2
    assert all(len(chunk.text) <= CHUNK_SIZE for chunk in found)
    for before, after in pairwise(found):
        assert after.text[: OVERLAP // 2] in before.text
    assert all(len(chunk.text) >= CHUNK_SIZE // 2 - OVERLAP for chunk in found[:-1])


def test_a_window_ends_where_the_text_pauses() -> None:
    """A sentence's end is better than a word's."""
    assert all(chunk.text.endswith("。") for chunk in chunks("今天天气不错，适合散步。" * 200)[:-1])


def test_links_are_form_encoded_and_labels_escaped() -> None:
    """A Markdown reader finds the link's end whatever the id and the title hold."""
    [chunk] = chunk_markdown("# a [b]\ntext", kb_id="kb", doc_id="d (1)&文")
    assert chunk.link == "/kb?doc=d+%281%29%26%E6%96%87&chunk=0"
    assert chunk.citation == f"[a \\[b\\]]({chunk.link})"
