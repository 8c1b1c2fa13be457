"""Search in Chinese and English over the bundled documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphs.knowledge import Document, Knowledge, KnowledgeUnavailable, bundled
from graphs.knowledge.library import read_documents


@pytest.mark.parametrize(
    ("query", "doc_id", "heading"),
    [
        ("年假有几天？", "leave-policy-zh", "年假"),
        ("病假需要医院证明吗", "leave-policy-zh", "病假"),
        ("How many days of annual leave are there?", "leave-policy-en", "Annual leave"),
        ("doctor's note for sick leave", "leave-policy-en", "Sick leave"),
        ("报销需要多久提交", "travel-expenses", "Filing a claim 报销流程"),
        ("hotel limit per night", "travel-expenses", "Limits 标准"),
        ("中断之后怎么恢复", "overview-zh", "中断与恢复"),
        ("What is the offline model?", "overview", "The offline model"),
    ],
)
def test_the_best_chunk_answers_the_question(query: str, doc_id: str, heading: str) -> None:
    """The first hit is the section that a reader would open."""
    best = bundled().search(query)[0]
    assert (best.doc_id, best.headings[-1]) == (doc_id, heading)


def test_a_knowledge_base_is_searched_alone() -> None:
    """Nothing leaks from another one; an unknown one is empty."""
    assert bundled().kb_ids == {"handbook", "product"}
    assert {chunk.kb_id for chunk in bundled().search("interrupts leave 中断 年假", "product")} == {"product"}
    assert bundled().search("年假", "nobody") == []


@pytest.mark.parametrize("query", ["", "   ", "?!", "zzz qqq", "龘靐"])
def test_nothing_in_common_finds_nothing(query: str) -> None:
    """No hit is better than a random one."""
    assert bundled().search(query) == []


def test_one_character_and_stop_words_are_searchable() -> None:
    """A query of a single Chinese character works, and one of stop words only is not emptied."""
    knowledge = Knowledge([Document("kb", "zh", "税率是多少"), Document("kb", "en", "to be or not to be")])
    assert [chunk.doc_id for chunk in knowledge.search("税")] == ["zh"]
    assert [chunk.doc_id for chunk in knowledge.search("to be")] == ["en"]


def test_at_most_five_best_first_and_stable() -> None:
    """Equal scores keep the documents' order."""
    knowledge = Knowledge(Document("kb", f"d{i}", "same text") for i in range(9))
    assert [chunk.doc_id for chunk in knowledge.search("same")] == ["d0", "d1", "d2", "d3", "d4"]
    assert len(knowledge.search("same", limit=7)) == 7


def test_a_link_finds_its_chunk() -> None:
    """What is cited can be opened."""
    chunk = bundled().search("年假")[0]
    assert bundled().chunk(chunk.doc_id, chunk.chunk_id) == chunk
    assert bundled().chunk("leave-policy-zh", "99") is None


def test_an_empty_library_can_be_searched() -> None:
    """No document, no error."""
    assert Knowledge([]).search("x") == []


def test_a_store_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    """`KnowledgeUnavailable`, with what happened behind it."""
    with pytest.raises(KnowledgeUnavailable) as raised:
        read_documents(tmp_path / "gone")
    assert isinstance(raised.value.__cause__, FileNotFoundError)
