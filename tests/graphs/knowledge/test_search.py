"""The parts of a search: terms, BM25, vectors, fusion, scores."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from langchain_core.embeddings import Embeddings

from graphs.knowledge import Embedder, HashingEmbeddings, Knowledge, KnowledgeUnavailable, chunk_markdown, hashing_embedder
from graphs.knowledge.bm25 import Bm25, Postings
from graphs.knowledge.dense import EXACT_UP_TO, Vectors
from graphs.knowledge.embedding import embed_all
from graphs.knowledge.ranking import fuse
from graphs.knowledge.segment import Segment, indexed_text
from graphs.knowledge.words import index_terms, query_terms


@pytest.mark.parametrize(
    ("text", "indexed", "asked"),
    [
        ("Two Films", ["two", "film"], ["two", "film"]),
        ("policies, bus, gas, class, is", ["policy", "bus", "gas", "class", "is"], ["policy", "bus", "gas", "class", "is"]),
        ("年假", ["年", "假", "年假"], ["年假"]),
        ("税", ["税"], ["税"]),
        ("VPN访问", ["vpn", "访", "问", "访问"], ["vpn", "访问"]),
        ("a_b-c 12", ["a", "b", "c", "12"], ["a", "b", "c", "12"]),
        ("、。!", [], []),
    ],
)
def test_terms(text: str, indexed: list[str], asked: list[str]) -> None:
    """Words in lower case and the singular, CJK as bigrams; single characters are indexed, and asked for where they stand alone."""
    assert (list(index_terms(text)), list(query_terms(text))) == (indexed, asked)


def test_parts_are_searched_as_one() -> None:
    """Split over two postings, the texts score as in one: rarity and length are those of all."""
    texts = ["red fish", "blue fish", "red red bird", "one", "鱼和鸟"]
    whole = Bm25([Postings.of(texts)])
    parts = Bm25([Postings.of(texts[:2]), Postings.of([]), Postings.of(texts[2:])])
    for query in ("red", "fish bird", "鱼和", "nothing", ""):
        assert parts.matches(query) == whole.matches(query)
    assert Bm25([]).matches("x") == {}


def test_coverage_is_the_share_of_the_query() -> None:
    """All of it: 1; a rare word counts more than a common one; a word that no text has lowers it."""
    index = Bm25([Postings.of(["fish soup", "fish stew", "fish pie"])])
    assert index.matches("fish soup")[0].coverage == 1
    assert index.matches("fish soup")[1].coverage < 0.5
    assert index.matches("fish submarine")[0].coverage < index.matches("fish soup")[1].coverage


def test_vectors_as_stored_are_near_enough() -> None:
    """Eight bits a number keep the order of cosines, also where only the most promising of many are multiplied."""
    dice = random.Random(7)
    vectors = [[dice.gauss(0, 1) for _ in range(64)] for _ in range(EXACT_UP_TO + 500)]
    index = Vectors.of(vectors)
    recalled = 0
    for asked in vectors[:20]:
        near = [number + dice.gauss(0, 0.5) for number in asked]
        exact = sorted(range(len(vectors)), key=lambda place, near=near: -_cosine(near, vectors[place]))[:5]  # type: ignore[misc]
        found = index.nearest(near, 5)
        assert found[0][0] == exact[0]
        assert found[0][1] == pytest.approx(_cosine(near, vectors[exact[0]]), abs=0.02)
        recalled += len({place for place, _ in found} & set(exact))
    assert recalled >= 80


def _cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_odd_vectors() -> None:
    """None, zeros, an opposite, another length."""
    assert Vectors.of([]).nearest([], 3) == []
    assert Vectors.of([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).nearest([2.0, 0.0], 3) == [(1, 1.0)]
    with pytest.raises(ValueError, match="different lengths"):
        Vectors.of([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="3 numbers for vectors of 2"):
        Vectors.of([[1.0, 2.0]]).nearest([1.0, 2.0, 3.0], 1)


def test_fusion() -> None:
    """By the sum of 1 / (60 + rank): agreement beats one first place, and equals keep their order."""
    assert fuse([[1, 2, 3], [2, 3, 1]]) == [2, 1, 3]
    assert fuse([[5, 4], [4, 9]]) == [4, 5, 9]
    assert fuse([[7, 3]]) == [7, 3]
    assert fuse([]) == []


async def embedded(embedder: Embedder, **documents: str) -> Segment:
    chunks = [chunk for name, text in documents.items() for chunk in chunk_markdown(text, kb_id="kb", doc_id=name)]
    return Segment.of(chunks, embedder.name, await embed_all(embedder, [indexed_text(chunk) for chunk in chunks]))


async def test_a_segment_comes_back_as_it_was() -> None:
    """Chunks, words and vectors; the bytes are the same for the same content."""
    segment = await embedded(hashing_embedder(), a="# 年假\n\n15 天 of leave", b="# Sick\n\nfish")
    again = Segment.load(segment.dump())
    assert again.chunks == segment.chunks
    assert again.dump() == segment.dump()
    knowledge, loaded = (Knowledge.of([(one, None)], hashing_embedder()) for one in (segment, again))
    assert await loaded.retrieve("年假 leave") == await knowledge.retrieve("年假 leave") != []
    assert Segment.load(Segment.of([]).dump()).chunks == []


class Synonyms(Embeddings):
    """Knows that a dog is a hound."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.1] if "dog" in text or "hound" in text else [0.1, 1.0]


async def test_vectors_find_what_words_do_not() -> None:
    """Any LangChain `Embeddings` will do; what both find is first, and a score is the larger of coverage and cosine."""
    embedder = Embedder("synonyms", Synonyms())
    segment = await embedded(embedder, a="a hound sleeps", b="a cat", c="the dog barks", d="dogma")
    hits = await Knowledge.of([(segment, None)], embedder).retrieve("dog")
    assert [hit.chunk.doc_id for hit in hits][:1] == ["c"]
    assert {hit.chunk.doc_id for hit in hits} >= {"a", "c"}
    assert min(hit.score for hit in hits if hit.chunk.doc_id in "ac") > 0.98
    assert [hit.chunk.doc_id for hit in await Knowledge.of([(segment, None)]).retrieve("dog")] == ["c"]


async def test_vectors_of_another_model_are_not_compared() -> None:
    """After a change of the model, documents are found by their words until they are imported again."""
    segment = await embedded(Embedder("old", Synonyms()), a="a hound", b="the dog")
    hits = await Knowledge.of([(segment, None)], hashing_embedder()).retrieve("dog")
    assert [hit.chunk.doc_id for hit in hits] == ["b"]


async def test_replaced_documents_are_not_found() -> None:
    """Neither by words nor by vectors nor by a link, nor do they take others' places."""
    embedder = hashing_embedder()
    old, new = await embedded(embedder, a="the red fish", b="a red bird"), await embedded(embedder, a="the blue fish")
    knowledge = Knowledge.of([(old, {"b"}), (new, {"a"})], embedder)
    assert {hit.chunk.text for hit in await knowledge.retrieve("red fish")} == {"the blue fish", "a red bird"}
    found = knowledge.chunk("a", "0")
    assert found is not None
    assert found.text == "the blue fish"
    assert Knowledge.of([(old, {"b"})]).chunk("a", "0") is None


async def test_an_embedding_model_that_fails_is_told() -> None:
    """A search by words alone would hide that."""

    class Broken(HashingEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            raise ConnectionError("no route")

    segment = await embedded(hashing_embedder(), a="fish")
    knowledge = Knowledge.of([(segment, None)], Embedder(hashing_embedder().name, Broken()))
    with pytest.raises(KnowledgeUnavailable, match="hashing-384"):
        await knowledge.retrieve("fish")
