"""Knowledge bases in S3, over moto: what a shelf promises, and imports that race."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from functions.store.clients import s3_client
from functions.store.shelf import S3Shelf
from graphs.knowledge import KnowledgeUnavailable, hashing_embedder
from graphs.knowledge.collection import Collection
from graphs.knowledge.errors import DocumentBusy
from graphs.knowledge.shelf import MemoryShelf, PieceGone, Shelf
from tests.support.dynamodb import REGION, bucket, s3
from tests.support.shelves import draft, found, imported, indexed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["bucket", "s3"]


@pytest.fixture(params=["memory", "s3"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    if request.param == "memory":
        return MemoryShelf()
    return S3Shelf(request.getfixturevalue("s3"), request.getfixturevalue("bucket"), "agents-")


def test_a_record_is_compared_and_swapped(shelf: Shelf) -> None:
    """Written only over the version that the writer has read; a stale writer is told, and changes nothing."""
    assert shelf.read("年假 1") is None
    assert shelf.write("年假 1", b"one", None)
    assert not shelf.write("年假 1", b"two", None)
    kept = shelf.read("年假 1")
    assert kept is not None
    assert shelf.write("年假 1", b"two", kept.tag)
    assert not shelf.write("年假 1", b"three", kept.tag)
    assert shelf.changed("年假 1", kept.tag)
    again = shelf.read("年假 1")
    assert again is not None
    assert (again.data, shelf.changed("年假 1", again.tag)) == (b"two", False)
    assert not shelf.write("gone", b"x", kept.tag)
    assert shelf.changed("gone", kept.tag)
    assert shelf.bases() == ["年假 1"]


def test_pieces(shelf: Shelf) -> None:
    """Come back as they were; what is deleted or was never there says so."""
    shelf.write_pieces("kb", {f"texts/{n}": f"text {n} \x00ü".encode() for n in range(40)})
    assert [shelf.read_piece("kb", f"texts/{n}") for n in (0, 39)] == [b"text 0 \x00\xc3\xbc", b"text 39 \x00\xc3\xbc"]
    shelf.delete_pieces("kb", ["texts/0", "never"])
    for gone in ("texts/0", "texts/40"):
        with pytest.raises(PieceGone):
            shelf.read_piece("kb", gone)
    with pytest.raises(PieceGone):
        shelf.read_piece("other", "texts/1")


def test_deployments_of_one_bucket_do_not_meet(s3: S3Client, bucket: str) -> None:
    """Their tables' prefix is that of their knowledge too."""
    S3Shelf(s3, bucket, "a-").write("kb", b"x", None)
    assert S3Shelf(s3, bucket, "b-").bases() == []
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == ["a-knowledge/kb/base.json"]


async def test_a_restart_finds_what_was_imported(s3: S3Client, bucket: str) -> None:
    """Another process has nothing but the bucket: words, vectors, links."""
    await imported(Collection(S3Shelf(s3, bucket), embedder=hashing_embedder()), "kb", a="# 年假\n\n十五天假期", b="red fish")
    other = Collection(S3Shelf(s3_client(s3.meta.endpoint_url, REGION), bucket), embedder=hashing_embedder())
    assert (await found(other, "假期", "kb"))[0] == "十五天假期"
    assert (await found(other, "red fish"))[0] == "red fish"


async def test_a_change_by_another_process_is_seen_by_the_next_search(s3: S3Client, bucket: str) -> None:
    """The record's tag is looked at each time; only segments that are new are read."""
    writer, reader = (Collection(S3Shelf(s3_client(s3.meta.endpoint_url, REGION), bucket)) for _ in range(2))
    await imported(writer, "kb", a="red fish")
    assert await found(reader, "fish", "kb") == ["red fish"]
    read: list[str] = []
    reader.shelf.client.meta.events.register("before-call.s3.GetObject", lambda params, **_: read.append(params["url_path"]))  # type: ignore[attr-defined]
    assert await found(reader, "fish", "kb") == ["red fish"]
    assert read == []
    await imported(writer, "kb", b="blue fish")
    assert sorted(await found(reader, "fish", "kb")) == ["blue fish", "red fish"]
    assert len([path for path in read if "segments" in path]) == 1
    writer.delete("kb", "kb/a")
    assert await found(reader, "fish", "kb") == ["blue fish"]


async def test_eight_imports_of_one_document_at_once(s3: S3Client, bucket: str) -> None:
    """One gets it, the others are refused as busy; what is searched in the end is one whole version."""
    writers = [Collection(S3Shelf(s3, bucket)) for _ in range(8)]
    writers[0].save("kb", [draft("kb", "a", "fish")])
    refused, all_refused = [0], asyncio.Event()

    async def attempt(writer: Collection) -> str:
        steps = writer.index("kb", ["kb/a"])
        try:
            await anext(steps)
        except DocumentBusy:
            refused[0] += 1
            if refused[0] == 7:
                all_refused.set()
            return "busy"
        await all_refused.wait()
        return [step.status async for step in steps][-1]

    assert sorted(await asyncio.gather(*map(attempt, writers))) == ["busy"] * 7 + ["completed"]
    assert await found(writers[3], "fish", "kb") == ["fish"]


async def test_imports_of_several_documents_at_once_all_arrive(s3: S3Client, bucket: str) -> None:
    """The record is one object that all of them change: nobody's change is lost."""
    writers = [Collection(S3Shelf(s3, bucket)) for _ in range(6)]
    await asyncio.gather(*(asyncio.to_thread(asyncio.run, imported(one, "kb", **{f"d{n}": f"fish{n}"})) for n, one in enumerate(writers)))
    assert [(e.doc_id, e.status) for e in writers[0].entries("kb")] == [(f"kb/d{n}", "completed") for n in range(6)]
    assert [await found(writers[0], f"fish{n}", "kb") for n in range(6)] == [[f"fish{n}"] for n in range(6)]


async def test_a_write_whose_answer_was_lost_is_no_second_import(s3: S3Client, bucket: str) -> None:
    """The client sends it again and is refused: it was its own, so the import goes on."""
    client = s3_client(s3.meta.endpoint_url, REGION)
    collection = Collection(S3Shelf(client, bucket))
    collection.save("kb", [draft("kb", "a", "fish")])
    lost = iter([True])

    client.meta.events.register("before-parse.s3.PutObject", lambda response_dict, **_: _lose(response_dict, lost))
    assert [step.status for step in await indexed(collection, "kb", ["kb/a"])] == ["indexing", "completed"]
    assert await found(collection, "fish", "kb") == ["fish"]


def _lose(response: dict[str, Any], lost: Iterator[bool]) -> None:
    if next(lost, False):
        response.update(status_code=503, body=b"")


@pytest.mark.parametrize("there", [True, False])
def test_a_store_that_cannot_be_reached(s3: S3Client, bucket: str, there: bool) -> None:
    """A bucket that is not there, and nobody who answers: `KnowledgeUnavailable`."""
    nobody = boto3.client("s3", endpoint_url="http://127.0.0.1:9", region_name=REGION, config=Config(retries={"total_max_attempts": 1}))
    shelf = S3Shelf(s3, "nobody-has-this-bucket") if there else S3Shelf(nobody, bucket)
    for call in (
        shelf.bases,
        lambda: shelf.write("kb", b"x", None),
        lambda: shelf.read_piece("kb", "s"),
        lambda: shelf.write_pieces("kb", {"s": b"x"}),
    ):
        with pytest.raises(KnowledgeUnavailable):
            call()
