"""Floors for what `python -m tests.retrieval` measures: a change that makes retrieval worse is seen here."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.retrieval.measure import WAYS, answers, answers_it, corpus, knowledge_of, measured
from tests.retrieval.questions import ANSWERABLE, UNANSWERABLE

FLOORS = {
    "words": {"recall@5": 0.95, "first": 0.9, "over, answerable": 0.87},
    "words + hashing": {"recall@5": 0.95, "first": 0.85, "over, answerable": 0.87},
    "hashing": {"recall@5": 0.9, "first": 0.7, "over, answerable": 0.5},
}


@pytest.mark.parametrize("way", WAYS)
async def test_retrieval(way: str) -> None:
    """Recall@5 and the threshold, for each way of searching; of the questions that nothing answers none is over the threshold."""
    shares = (await measured(await knowledge_of(way))).shares
    assert {name: share for name, share in shares.items() if share < FLOORS[way].get(name, 0)} == {}
    assert shares["over, not answerable"] == 0


async def test_answers_of_the_offline_model() -> None:
    """Every citation of an answer verifies; nearly all cite the labelled section."""
    shares = await answers(await knowledge_of("words"))
    assert shares["of these verified"] == 1
    assert shares["answered"] >= 0.87
    assert shares["of these cite the labelled section"] >= 0.95


def test_the_labels_are_whole() -> None:
    """At least 60 questions in two languages, each with a section that is there, none twice."""
    assert len(ANSWERABLE) >= 60
    assert [question for question in ANSWERABLE if not any(answers_it(question, chunk) for chunk in corpus())] == []
    texts = [question.text for question in ANSWERABLE] + UNANSWERABLE
    assert [text for text, count in Counter(texts).items() if count > 1] == []
    assert sum(question.document.startswith("zh-") for question in ANSWERABLE) * 2 == len(ANSWERABLE)
