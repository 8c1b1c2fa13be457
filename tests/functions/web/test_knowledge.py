"""Knowledge bases over HTTP: imported with their progress, listed, cited, deleted, by whom they belong to. Over moto."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from botocore.loaders import Loader, create_loader
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from functions.settings import Settings
from functions.store.clients import s3_client
from functions.store.shelf import S3Shelf
from functions.web import create_app, documents
from graphs.knowledge.collection import Collection, Progress
from graphs.knowledge.errors import KnowledgeUnavailable
from tests.functions.web.test_app import body, client_of
from tests.functions.web.test_principals import event_of
from tests.support.dynamodb import REGION, bucket, s3
from tests.support.shelves import draft
from tests.support.sse import read_sse

__all__ = ["bucket", "s3"]

Client = AbstractAsyncContextManager[httpx.AsyncClient]


@pytest.fixture(scope="module")
def loader() -> Loader:
    """botocore's models, read once: each app makes clients of its own."""
    return create_loader()


@pytest.fixture
def settings(loader: Loader, moto_endpoint: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr("botocore.session.create_loader", lambda *_: loader)
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_endpoint)
    return Settings(auth="none", bucket=bucket, offline_delay_ms=0, max_body_bytes=100_000)


def app_of(agent: str, settings: Settings, **more: Any) -> FastAPI:
    return create_app(agent, settings.model_copy(update=more), checkpointer=InMemorySaver())


@pytest.fixture
async def kb(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app_of("kb", settings)) as client:
        yield client


@pytest.fixture
def called_by(settings: Settings) -> Callable[[str], Client]:
    """A client of kb for a caller with an IAM identity."""
    app = app_of("kb", settings, auth="iam")
    return lambda user: client_of(app, **{"aws.event": event_of(user)})


async def put(client: httpx.AsyncClient, kb_id: str, name: str, data: bytes | str, **more: str) -> list[dict[str, Any]]:
    answer = await client.post("/kb/documents", params={"kb": kb_id, "name": name, **more}, content=data)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_file_is_imported_asked_cited_and_deleted(kb: httpx.AsyncClient, settings: Settings) -> None:
    """Progress in JSON lines; then in the list, in kb's answer, behind its link, in reactAgent's search; and gone."""
    assert await put(kb, "mars", "rules.md", "# Rules\n\n## Pay\n\nA trip to Mars pays 888 credits a day.") == [
        {"docId": "mars/rules", "status": "draft"},
        {"docId": "mars/rules", "status": "indexing", "chunks": 1},
        {"docId": "mars/rules", "status": "completed", "chunks": 1},
        {"done": {"completed": 1}},
    ]
    listed = (await kb.get("/kb/documents", params={"kb": "mars"})).json()
    assert listed["writable"]
    (one,) = listed["documents"]
    assert (one["docId"], one["title"], one["status"], one["chunks"]) == ("mars/rules", "Rules", "completed", 1)
    assert (await kb.get("/kb/bases")).json()["bases"] == [{"kbId": "mars", "documents": 1, "writable": True}]
    link = "/kb?doc=mars%2Frules&chunk=0"
    assert f"[Rules › Pay]({link})" in (await kb.post("/", json=body("What does a trip to Mars pay?"))).text
    passage = (await kb.get(link)).json()
    assert (passage["headings"], passage["text"]) == (["Rules", "Pay"], "A trip to Mars pays 888 credits a day.")
    async with client_of(app_of("reactAgent", settings)) as react:
        assert "888 credits" in (await react.post("/", json=body("What does Mars pay?"))).text
        assert (await react.get(link)).json() == passage
        assert (await react.post("/kb/documents", params={"kb": "mars", "name": "a.md"}, content="x")).status_code == 404
    assert (await kb.delete("/kb/documents", params={"kb": "mars", "doc": "mars/rules"})).json() == {"deleted": "mars/rules"}
    assert code(await kb.get(link)) == (404, "NOT_FOUND")
    assert code(await kb.delete("/kb/documents", params={"kb": "mars", "doc": "mars/rules"})) == (404, "NOT_FOUND")


async def test_an_archive(kb: httpx.AsyncClient) -> None:
    """Its Markdown; what is left out is said, each with its reason."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("a.md", "b/c.md", "../evil.md", "pic.png"):
            archive.writestr(name, f"text of {name}")
    steps = await put(kb, "docs", "all.zip", buffer.getvalue())
    assert [step["name"] for step in steps if step.get("status") == "skipped"] == ["../evil.md", "pic.png"]
    assert steps[-1] == {"done": {"completed": 2, "skipped": 2}}
    assert [one["docId"] for one in (await kb.get("/kb/documents", params={"kb": "docs"})).json()["documents"]] == ["docs/a", "docs/b/c"]


async def test_a_draft_is_indexed_later(kb: httpx.AsyncClient) -> None:
    """Kept and listed, and found only then."""
    assert (await put(kb, "k", "a.txt", "red fish", draft="true"))[-1] == {"done": {"draft": 1}}
    assert (await kb.get("/kb?doc=k%2Fa.txt&chunk=0")).status_code == 404
    answer = await kb.post("/kb/index", params={"kb": "k", "doc": ["k/a.txt", "k/a.txt"]})
    assert json.loads(answer.text.splitlines()[-1]) == {"done": {"completed": 1}}
    assert (await kb.get("/kb?doc=k%2Fa.txt&chunk=0")).json()["text"] == "red fish"
    assert code(await kb.post("/kb/index", params={"kb": "k", "doc": "k/none"})) == (422, "BAD_INPUT")


@pytest.mark.parametrize(
    ("params", "data", "status"),
    [
        ({"kb": "a/b", "name": "a.md"}, b"x", 422),
        ({"kb": "k"}, b"x", 422),
        ({"kb": "", "name": "a.md"}, b"x", 422),
        ({"kb": "k", "name": "a.exe"}, b"x", 422),
        ({"kb": "k", "name": "../a.md"}, b"x", 422),
        ({"kb": "k", "name": "a.md"}, b"", 422),
        ({"kb": "k", "name": "a.zip"}, b"PK", 422),
        ({"kb": "k", "name": "a.md"}, b"x" * 100_001, 413),
    ],
)
async def test_bad_input_is_a_status_and_changes_nothing(kb: httpx.AsyncClient, params: dict[str, str], data: bytes, status: int) -> None:
    """Before any progress; no base is made of it."""
    answer = await kb.post("/kb/documents", params=params, content=data)
    assert (answer.status_code, set(answer.json())) == (status, {"error"})
    assert (await kb.get("/kb/bases")).json()["bases"] == []


async def test_a_document_that_is_being_imported_is_busy(kb: httpx.AsyncClient, settings: Settings) -> None:
    """409 for a second import and for a deletion, wherever the first one runs; afterwards it is free."""
    await put(kb, "k", "a.md", "one")
    elsewhere = Collection(S3Shelf(s3_client(region_name=REGION), settings.bucket, settings.table_prefix))
    await asyncio.to_thread(elsewhere.save, "k", [draft("k", "a", "two")])
    await anext(steps := elsewhere.index("k", ["k/a"]))
    where = {"kb": "k", "name": "a.md"}
    assert code(await kb.post("/kb/documents", params=where, content="three")) == (409, "DOCUMENT_BUSY")
    assert code(await kb.post("/kb/index", params={"kb": "k", "doc": "k/a"})) == (409, "DOCUMENT_BUSY")
    assert code(await kb.delete("/kb/documents", params={"kb": "k", "doc": "k/a"})) == (409, "DOCUMENT_BUSY")
    assert (await put(kb, "k", "b.md", "free"))[-1] == {"done": {"completed": 1}}
    assert [step.status async for step in steps] == ["completed"]
    assert (await kb.get("/kb?doc=k%2Fa&chunk=0")).json()["text"] == "two"


async def test_a_base_belongs_to_who_made_it(called_by: Callable[[str], Client]) -> None:
    """Another caller neither reads, lists, cites, asks nor changes it; a run that names it is refused before it begins."""
    async with called_by("ann") as ann, called_by("bob") as bob:
        await put(ann, "secret", "a.md", "the secret fish is red")
        asking = body("What colour is the secret fish?", state={"kbId": "secret"})
        assert "the secret fish is red" in (await ann.post("/", json=asking)).text
        forbidden = (403, "KB_FORBIDDEN")
        assert code(await bob.get("/kb?doc=secret%2Fa&chunk=0")) == forbidden
        assert code(await bob.get("/kb/documents", params={"kb": "secret"})) == forbidden
        assert code(await bob.post("/kb/documents", params={"kb": "secret", "name": "b.md"}, content="x")) == forbidden
        assert code(await bob.delete("/kb/documents", params={"kb": "secret", "doc": "secret/a"})) == forbidden
        assert code(await bob.post("/", json=asking)) == forbidden
        assert (await bob.get("/kb/bases")).json()["bases"] == []
        assert "secret fish is red" not in (await bob.post("/", json=body("What colour is the secret fish?", thread="t2"))).text


async def test_a_shared_base_is_read_by_all_and_changed_by_nobody(called_by: Callable[[str], Client], settings: Settings) -> None:
    """What the command line imported: over a URL with signed callers it can only be read."""
    shelf = S3Shelf(s3_client(region_name=REGION), settings.bucket, settings.table_prefix)
    await asyncio.to_thread(Collection(shelf).save, "shared", [draft("shared", "a", "x")])
    async with called_by("ann") as ann:
        assert (await ann.get("/kb/bases")).json()["bases"] == [{"kbId": "shared", "documents": 1, "writable": False}]
        assert code(await ann.delete("/kb/documents", params={"kb": "shared", "doc": "shared/a"})) == (403, "KB_FORBIDDEN")


async def test_a_store_that_is_not_there(settings: Settings) -> None:
    """No bucket: said with the variable; one that cannot be reached: 503, and a run ends in `KB_INFRA_DOWN`."""
    async with client_of(app_of("kb", settings, bucket="")) as kb:
        assert code(await kb.post("/kb/documents", params={"kb": "k", "name": "a.md"}, content="x")) == (503, "NO_STORE")
        assert (await kb.get("/kb?doc=leave-policy-zh&chunk=1")).status_code == 200
        assert "/kb?doc=leave-policy-zh" in (await kb.post("/", json=body("年假可以结转几天？"))).text
    async with client_of(app_of("kb", settings, bucket="no-such-bucket")) as kb:
        assert code(await kb.get("/kb/documents", params={"kb": "k"})) == (503, "KB_INFRA_DOWN")
        events = read_sse((await kb.post("/", json=body("年假可以结转几天？"))).content)
        assert events[-1]["code"] == "KB_INFRA_DOWN"


async def test_the_samples_can_be_left_out(settings: Settings) -> None:
    """Where one's own documents are all that may be answered from."""
    async with client_of(app_of("kb", settings, sample_knowledge=False)) as kb:
        assert (await kb.get("/kb?doc=leave-policy-zh&chunk=1")).status_code == 404
        assert "没有在知识库中找到" in (await kb.post("/", json=body("年假可以结转几天？"))).text


async def test_vectors_are_made_where_a_model_is_named(settings: Settings) -> None:
    """`hashing` needs no key; a provider that is not installed is named with what to do."""
    async with client_of(app_of("kb", settings, embeddings="hashing")) as kb:
        await put(kb, "k", "a.md", "red fish")
        assert "red fish" in (await kb.post("/", json=body("Is there a red fish?"))).text
    with pytest.raises(ImportError, match="cohere"):
        app_of("kb", settings, embeddings="cohere:embed-v4")


async def test_an_import_that_breaks_off_says_so_for_each_document() -> None:
    """The answer has begun with 200: what did not come to an end is an error in it, and counted."""

    async def steps() -> AsyncIterator[Progress]:
        yield Progress("kb/a", "completed", 1)
        yield Progress("kb/b", "indexing", 2)
        raise KnowledgeUnavailable("s3.internal")

    response = documents._lines([], steps(), [], ["kb/a", "kb/b", "kb/c"])
    lines = [json.loads(line) async for line in response.body_iterator if isinstance(line, bytes)]
    assert [(line["docId"], line["status"]) for line in lines[:-1]] == [
        ("kb/a", "completed"),
        ("kb/b", "indexing"),
        ("kb/b", "error"),
        ("kb/c", "error"),
    ]
    assert lines[-1] == {"done": {"completed": 1, "error": 2}}
    assert "internal" not in str(lines)
