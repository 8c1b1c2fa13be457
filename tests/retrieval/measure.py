"""Measures retrieval and kb's answers on the labelled set: the corpus in `corpus/` (written for this project, under its licence)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from graphs.catalog import AGENTS, Deps
from graphs.kb.retrieval import MIN_SCORE
from graphs.kb.state import cited
from graphs.knowledge import Embedder, Hit, Knowledge, hashing_embedder
from graphs.knowledge.chunking import Chunk, chunk_markdown
from graphs.knowledge.citations import problems_of
from graphs.knowledge.embedding import embed_all
from graphs.knowledge.segment import Segment, indexed_text
from graphs.models import make_model
from tests.retrieval.questions import ANSWERABLE, UNANSWERABLE, Question

CORPUS = Path(__file__).parent / "corpus"
KB_ID = "labelled"
WAYS = ("words", "words + hashing", "hashing")
_LINKED = re.compile(r"\[(?:\\.|[^\[\]\\])*\]\((/kb\?[^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Measured:
    """Shares of 0..1 by name, and the questions behind what is missing."""

    shares: dict[str, float]
    misses: dict[str, list[str]]


@cache
def corpus() -> tuple[Chunk, ...]:
    files = sorted(CORPUS.glob("*.md"))
    return tuple(chunk for file in files for chunk in chunk_markdown(file.read_text("utf-8"), kb_id=KB_ID, doc_id=f"{KB_ID}/{file.stem}"))


async def knowledge_of(way: str) -> Knowledge:
    """The corpus, searched in one of `WAYS`."""
    chunks = corpus()
    if way == "words":
        return Knowledge.of([(Segment.of(chunks), None)])
    embedder = hashing_embedder()
    segment = await _embedded(chunks, embedder)
    return Knowledge.of([(segment, None)], embedder) if way == "words + hashing" else VectorsAlone.of([(segment, None)], embedder)


async def _embedded(chunks: tuple[Chunk, ...], embedder: Embedder) -> Segment:
    return Segment.of(chunks, embedder.name, await embed_all(embedder, [indexed_text(chunk) for chunk in chunks]))


class VectorsAlone(Knowledge):
    """Words find nothing."""

    def _matches(self, query: str, kb_id: str | None) -> dict[int, object]:  # type: ignore[override]
        return {}


async def measured(knowledge: Knowledge) -> Measured:
    found = {question: await knowledge.retrieve(question.text) for question in ANSWERABLE}
    beside = {text: await knowledge.retrieve(text) for text in UNANSWERABLE}
    missed = [question for question, hits in found.items() if not any(answers_it(question, hit.chunk) for hit in hits)]
    not_first = [question for question, hits in found.items() if not hits or not answers_it(question, hits[0].chunk)]
    under = [question for question, hits in found.items() if top(hits) < MIN_SCORE]
    over = [text for text, hits in beside.items() if top(hits) >= MIN_SCORE]
    shares = {
        "recall@5": 1 - len(missed) / len(ANSWERABLE),
        "first": 1 - len(not_first) / len(ANSWERABLE),
        "over, answerable": 1 - len(under) / len(ANSWERABLE),
        "over, not answerable": len(over) / len(UNANSWERABLE),
    }
    return Measured(shares, {"missed": texts(missed), "under": texts(under), "over": over})


def answers_it(question: Question, chunk: Chunk) -> bool:
    return chunk.doc_id == f"{KB_ID}/{question.document}" and chunk.headings[-1] == question.heading


def top(hits: Iterable[Hit]) -> float:
    return max((hit.score for hit in hits), default=0.0)


def texts(questions: Iterable[Question]) -> list[str]:
    return [question.text for question in questions]


async def answers(knowledge: Knowledge) -> dict[str, float]:
    """What kb says offline to the answerable questions: shares of all of them."""
    spec = AGENTS["kb"]
    deps = Deps(make_model("offline", script=spec.offline_script()), knowledge)
    graph = spec.build(deps).compile(checkpointer=InMemorySaver())
    answered = verified = right = 0
    for number, question in enumerate(ANSWERABLE):
        state = await graph.ainvoke({"messages": [("user", question.text)]}, RunnableConfig(configurable={"thread_id": str(number)}))
        if state["routeRejected"]:
            continue
        text, chunks = state["messages"][-1].text, cited(state["retrievedChunks"])
        links = _LINKED.findall(text)
        answered += 1
        verified += bool(links) and not problems_of(text, chunks)
        wanted = {chunk.link for chunk in corpus() if answers_it(question, chunk)}
        right += bool(wanted & set(links))
    return {
        "answered": answered / len(ANSWERABLE),
        "of these verified": verified / answered,
        "of these cite the labelled section": right / answered,
    }
