"""Importing: drafts, claims, versions; in memory. `tests/functions/store/test_shelf.py` has the same over S3."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.knowledge import Embedder, HashingEmbeddings, bundled, collection, hashing_embedder
from graphs.knowledge.base import CLAIM_SECONDS, INTERRUPTED, Base
from graphs.knowledge.collection import TAKEN, Collection, Progress
from graphs.knowledge.errors import DocumentBusy, ImportRefused
from graphs.knowledge.merging import MOST_SEGMENTS
from graphs.knowledge.shelf import MemoryShelf
from tests.support.shelves import draft, found, imported, indexed


def nothing_left_over(kb: Collection) -> None:
    """The shelf has exactly the pieces that the record names."""
    base = kb.base("kb")
    assert base is not None
    assert {name for _, name in kb.shelf._pieces} == base.pieces  # type: ignore[attr-defined]


def entries(one: Collection, kb_id: str = "kb") -> list[tuple[str, str]]:
    return [(entry.doc_id, entry.status) for entry in one.entries(kb_id)]


async def test_a_document_from_draft_to_completed() -> None:
    """A draft is listed and not found; indexed it is found, by its base and by a search over all, and its link opens it."""
    kb = Collection(MemoryShelf(), bundled())
    kb.save("kb", [draft("kb", "a", "# A\n\nred fish")])
    assert entries(kb) == [("kb/a", "draft")]
    assert await found(kb, "red fish", "kb") == []
    assert await indexed(kb, "kb", ["kb/a"]) == [Progress("kb/a", "indexing", 1), Progress("kb/a", "completed", 1)]
    assert entries(kb) == [("kb/a", "completed")]
    assert await found(kb, "red fish", "kb") == await found(kb, "red fish") == ["red fish"]
    chunk = await kb.chunk("kb/a", "0")
    assert chunk is not None
    assert chunk.link == "/kb?doc=kb%2Fa&chunk=0"
    assert (await kb.chunk("leave-policy-zh", "1")) is not None
    assert (await kb.chunk("kb/b", "0"), await kb.chunk("nobody/b", "0"), await kb.chunk("b", "0")) == (None, None, None)


async def test_the_old_version_is_searched_until_the_new_one_is_whole() -> None:
    """Also while the new one is a draft or being indexed, and then the new one at once."""
    kb = Collection(MemoryShelf())
    await imported(kb, "kb", a="old text", b="another text")
    kb.save("kb", [draft("kb", "a", "new text")])
    seen = [await found(kb, "text", "kb"), *[await found(kb, "text", "kb") async for _ in kb.index("kb", ["kb/a"])]]
    old, new = ["another text", "old text"], ["another text", "new text"]
    assert [sorted(texts) for texts in seen] == [old, old, new]


async def test_a_second_import_of_a_document_is_refused_while_one_is_at_work() -> None:
    """Neither saved nor indexed nor deleted; other documents are free, and afterwards this one too."""
    kb = Collection(MemoryShelf())
    kb.save("kb", [draft("kb", "a", "one"), draft("kb", "b", "two")])
    first = kb.index("kb", ["kb/a"])
    await anext(first)
    for attempt in (
        lambda: kb.save("kb", [draft("kb", "b", "three"), draft("kb", "a", "three")]),
        lambda: kb.delete("kb", "kb/a"),
    ):
        with pytest.raises(DocumentBusy, match="kb/a"):
            attempt()
    with pytest.raises(DocumentBusy):
        await indexed(kb, "kb", ["kb/b", "kb/a"])
    assert entries(kb) == [("kb/a", "indexing"), ("kb/b", "draft")]
    assert [step.status for step in await indexed(kb, "kb", ["kb/b"])] == ["indexing", "completed"]
    assert [step.status async for step in first] == ["completed"]
    assert await found(kb, "three", "kb") == []
    await imported(kb, "kb", a="four")
    assert await found(kb, "four", "kb") == ["four"]


class Sometimes(HashingEmbeddings):
    fails = True

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise ConnectionError("host embed-3.internal")
        return super().embed_documents(texts)


async def test_a_failed_import_loses_nothing() -> None:
    """The old version stays, the error is told without a host's name, and the draft can be indexed again without its file."""
    model = Sometimes()
    kb = Collection(MemoryShelf(), embedder=Embedder("sometimes", model))
    model.fails = False
    await imported(kb, "kb", a="old fish")
    model.fails = True
    steps = await imported(kb, "kb", a="new fish")
    assert steps[-1] == Progress("kb/a", "error", error="The embedding model failed (ConnectionError).")
    assert entries(kb) == [("kb/a", "error")]
    assert await found(kb, "fish", "kb") == ["old fish"]
    model.fails = False
    assert (await indexed(kb, "kb", ["kb/a"]))[-1].status == "completed"
    assert await found(kb, "fish", "kb") == ["new fish"]


async def test_one_bad_document_does_not_stop_the_others() -> None:
    """A document of headings alone has nothing to search."""
    kb = Collection(MemoryShelf())
    steps = await imported(kb, "kb", a="# only a heading", b="fish")
    assert [(step.doc_id, step.status) for step in steps if step.status != "indexing"] == [("kb/a", "error"), ("kb/b", "completed")]


async def test_an_import_that_is_left_gives_its_documents_back() -> None:
    """As an error, at once; one whose process died does so when its claim ends, and shows as an error until then."""
    now = [1_000.0]
    kb = Collection(MemoryShelf(), clock=lambda: now[0])
    kb.save("kb", [draft("kb", "a", "one")])
    left = kb.index("kb", ["kb/a"])
    await anext(left)
    await left.aclose()
    assert [(entry.status, entry.error) for entry in kb.entries("kb")] == [("error", "The import broke off.")]
    await anext(died := kb.index("kb", ["kb/a"]))
    now[0] += CLAIM_SECONDS
    assert [(entry.status, entry.error) for entry in kb.entries("kb")] == [("error", INTERRUPTED)]
    assert (await indexed(kb, "kb", ["kb/a"]))[-1].status == "completed"
    assert [step async for step in died] == [Progress("kb/a", "error", error=TAKEN)]
    assert entries(kb) == [("kb/a", "completed")]
    nothing_left_over(kb)


async def test_deleted_is_gone() -> None:
    """From searches, links, the list, and from the shelf."""
    shelf = MemoryShelf()
    kb = Collection(shelf)
    await imported(kb, "kb", a="red fish")
    await imported(kb, "kb", b="blue fish")
    assert kb.delete("kb", "kb/a")
    assert not kb.delete("kb", "kb/a")
    assert not kb.delete("nobody", "nobody/a")
    assert await found(kb, "fish", "kb") == ["blue fish"]
    assert await kb.chunk("kb/a", "0") is None
    nothing_left_over(kb)


@pytest.mark.parametrize("embedder", [None, hashing_embedder()])
async def test_many_imports_stay_few_segments(embedder: Embedder | None) -> None:
    """They are merged: all is still found, words and vectors, what was replaced is not, and a reader that has the old ones goes on."""
    kb, reader = Collection(shelf := MemoryShelf(), embedder=embedder), None
    reader = Collection(shelf, embedder=embedder)
    for number in range(MOST_SEGMENTS + 5):
        await imported(kb, "kb", **{f"d{number}": f"fish{number} swims", "again": f"bird{number} flies"})
        assert await found(reader, f"fish{number}", "kb") == [f"fish{number} swims"] or embedder
    base = kb.base("kb")
    assert base is not None
    assert len(base.segments) <= MOST_SEGMENTS + 1
    nothing_left_over(kb)
    for number in range(MOST_SEGMENTS + 5):
        assert (await found(reader, f"fish{number}", "kb"))[0] == f"fish{number} swims"
    assert (await found(reader, "flies", "kb"))[0] == f"bird{MOST_SEGMENTS + 4} flies"


async def test_large_imports_go_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done is found before the rest is."""
    monkeypatch.setattr(collection, "GROUP_CHUNKS", 2)
    steps = await imported(Collection(MemoryShelf()), "kb", a="one", b="two", c="three")
    assert [(step.doc_id[-1], step.status) for step in steps] == [
        ("a", "indexing"),
        ("b", "indexing"),
        ("a", "completed"),
        ("b", "completed"),
        ("c", "indexing"),
        ("c", "completed"),
    ]


@pytest.mark.parametrize(
    "attempt",
    [
        lambda kb: kb.save("no/slash", [draft("x", "a", "t")]),
        lambda kb: kb.save("kb", [draft("kb", "a", "t"), draft("kb", "a", "u")]),
    ],
)
def test_what_cannot_be_saved(attempt: Any) -> None:
    """A base's id that cannot be one, and two files for one document."""
    kb = Collection(MemoryShelf())
    with pytest.raises(ImportRefused):
        attempt(kb)
    assert kb.shelf.bases() == []


async def test_what_is_not_there_cannot_be_indexed() -> None:
    """Nothing is claimed then, not even what is there."""
    kb = Collection(MemoryShelf())
    kb.save("kb", [draft("kb", "a", "t")])
    with pytest.raises(ImportRefused, match="kb/b"):
        await indexed(kb, "kb", ["kb/a", "kb/b"])
    assert entries(kb) == [("kb/a", "draft")]


async def test_who_may_read_is_kept_with_the_base() -> None:
    """Its owner and readers; what is not for everybody is in no search that names no base."""
    kb = Collection(MemoryShelf())
    kb.save("kb", [draft("kb", "a", "secret fish")], owner="ann", readers=("bob",))
    await indexed(kb, "kb", ["kb/a"])
    kb.save("kb", [draft("kb", "b", "other fish")], owner="eve", readers=("*",))  # the base is there: its owner stays
    base = kb.base("kb")
    assert base is not None
    assert [base.may_read(who) for who in ("ann", "bob", "eve")] == [True, True, False]
    assert await found(kb, "fish") == []
    assert await found(kb, "secret", "kb") == ["secret fish"]


class Unheard(MemoryShelf):
    """Its client asks again when an answer is lost, and is refused by what it has written itself."""

    lost = False

    def write(self, kb_id: str, data: bytes, tag: str | None) -> bool:
        return super().write(kb_id, data, tag) and not self.lost


class Unmerged(Collection):
    def _merge(self, kb_id: str) -> None:
        """Many small segments stay."""


async def test_a_merge_whose_answer_was_lost_keeps_its_segment() -> None:
    """The record names it: deleting it would take the base away."""
    shelf = Unheard()
    for number in range(MOST_SEGMENTS + 1):
        await imported(Unmerged(shelf), "kb", **{f"d{number}": f"fish {number}"})
    shelf.lost = True
    Collection(shelf)._merge("kb")
    base = Collection(shelf).base("kb")
    assert base is not None
    assert len(base.segments) < MOST_SEGMENTS
    assert await found(Collection(shelf), "fish 7", "kb")


async def test_a_base_that_another_made_meanwhile_is_not_written() -> None:
    """Who may change it is asked of the record that is changed."""
    kb = Collection(MemoryShelf())
    kb.save("kb", [draft("kb", "a", "mine")], owner="ann", readers=("ann",))

    def only_bens(base: Base) -> None:
        if base.owner != "ben":
            raise PermissionError(base.kb_id)

    with pytest.raises(PermissionError):
        kb.save("kb", [draft("kb", "b", "his")], owner="ben", readers=("ben",), guard=only_bens)
    assert entries(kb) == [("kb/a", "draft")]
    assert [one.doc_id for one in kb.save("bens", [draft("bens", "b", "his")], owner="ben", guard=only_bens)] == ["bens/b"]


async def test_a_search_over_all_reads_no_private_texts() -> None:
    """Their segments stay where they are: they would cost every caller time and memory."""
    shelf = MemoryShelf()
    kb = Collection(shelf)
    kb.save("private", [draft("private", "a", "hidden fish")], owner="ann", readers=("ann",))
    await indexed(kb, "private", ["private/a"])
    await imported(kb, "open", b="red fish")
    reader = Collection(shelf)
    assert await found(reader, "fish") == ["red fish"]
    assert {kb_id: len(loaded.segments) for kb_id, loaded in reader._loaded.items()} == {"private": 0, "open": 1}
    assert await found(reader, "fish", "private") == ["hidden fish"]


async def test_a_refused_import_changes_no_text() -> None:
    """It comes while the document is indexed, after its own text was stored: the other's text is indexed, and its own is gone."""
    kb = Collection(MemoryShelf())
    kb.save("kb", [draft("kb", "a", "red fish")])
    importing = kb.index("kb", ["kb/a"])

    await anext(importing)
    with pytest.raises(DocumentBusy):
        kb.save("kb", [draft("kb", "a", "blue fish")])
    assert [step.status async for step in importing] == ["completed"]
    assert await found(kb, "fish", "kb") == ["red fish"]
    nothing_left_over(kb)
