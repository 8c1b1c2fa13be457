"""`agents kb` on a deployment over moto."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from functions.store.shelf import S3Shelf
from graphs.knowledge.collection import Collection
from infra.cli import app
from tests.infra.cli.conftest import Deployment
from tests.support.shelves import draft, found

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Run = Callable[..., Result]


@pytest.fixture
def kb(deployment: Deployment, bucket: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`agents kb` with a bucket."""
    monkeypatch.setenv("AGENTS_BUCKET", bucket)
    return lambda *words, typed=None: CliRunner().invoke(app, ["kb", *words], input=typed)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# Fish\n\nred fish", "utf-8")
    (folder / "sub" / "b.txt").write_text("blue fish", "utf-8")
    (folder / "pic.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.md").write_text("x", "utf-8")
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("c.md", "green fish")
        archive.writestr("no.html", "x")
    return folder


def test_a_folder_is_imported_listed_and_deleted(kb: Run, documents: Path, deployment: Deployment, s3: S3Client, bucket: str) -> None:
    """Files, folders and archives; what is left out is said; an agent finds the rest."""
    done = kb("import", str(documents), "--kb", "fish")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["skipped", "skipped", "completed", "completed", "completed", "fish:"]
    assert lines[-1] == "fish: 3 completed, 2 skipped"
    collection = Collection(S3Shelf(s3, bucket, deployment.settings.table_prefix))
    assert sorted(asyncio.run(found(collection, "fish"))) == ["blue fish", "green fish", "red fish"]
    assert kb("list").stdout == "fish: 3 documents, 3 chunks\n"
    listed = [line.split()[:3] for line in kb("list", "--kb", "fish").stdout.splitlines()]
    assert listed == [["completed", "1", "fish/a"], ["completed", "1", "fish/c"], ["completed", "1", "fish/sub/b.txt"]]
    assert kb("delete", "a", "--kb", "fish", typed="n\n").exit_code == 1
    assert kb("delete", "a", "--kb", "fish", typed="y\n").stdout.endswith("Deleted fish/a.\n")
    assert kb("delete", "fish/c", "--kb", "fish", "--yes").exit_code == 0
    told = json.loads(kb("list", "--kb", "fish", "--json").stdout)
    assert [(base["kbId"], [one["docId"] for one in base["documents"]]) for base in told] == [("fish", ["fish/sub/b.txt"])]


def test_json_lines_and_readers(kb: Run, documents: Path, deployment: Deployment, s3: S3Client, bucket: str) -> None:
    """`--json`: each step a line; `--reader`: nobody else may read a new base; `--draft`: not searched yet."""
    done = kb("import", str(documents / "a.md"), "--kb", "k", "--reader", "ann", "--reader", "bob", "--json")
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert [step.get("status") for step in steps] == ["indexing", "completed", None]
    assert steps[-1] == {"done": {"completed": 1}}
    assert kb("import", str(documents / "sub" / "b.txt"), "--kb", "k", "--draft").stdout == "k: 1 draft\n"
    collection = Collection(S3Shelf(s3, bucket, deployment.settings.table_prefix))
    base = collection.base("k")
    assert base is not None
    assert (base.owner, base.readers) == (None, ("ann", "bob"))
    assert asyncio.run(found(collection, "fish", "k")) == ["red fish"]
    assert [entry.status for entry in collection.entries("k")] == ["completed", "draft"]


def test_what_goes_wrong(
    kb: Run, documents: Path, deployment: Deployment, s3: S3Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence and an exit code: a file that cannot be imported, a bad id, a busy document, one that is not there, no bucket."""
    assert (refused := kb("import", str(documents / "pic.png"), "--kb", "k")).exit_code == 1
    assert "only Markdown" in refused.stderr
    assert kb("import", str(documents / "a.md"), "--kb", "no/slash").exit_code == 1
    assert kb("import", str(documents / "none.md"), "--kb", "k").exit_code == 2
    assert (gone := kb("delete", "none", "--kb", "k", "--yes")).exit_code == 1
    assert "agents kb list --kb k" in gone.stderr
    assert "no knowledge bases" in kb("list").stderr
    collection = Collection(S3Shelf(s3, bucket, deployment.settings.table_prefix))
    collection.save("k", [draft("k", "a", "x")])

    async def meanwhile() -> Result:
        steps = collection.index("k", ["k/a"])
        await anext(steps)
        refused = await asyncio.to_thread(kb, "import", str(documents / "a.md"), "--kb", "k")
        await steps.aclose()
        return refused

    assert (busy := asyncio.run(meanwhile())).exit_code == 1
    assert "k/a" in busy.stderr
    monkeypatch.delenv("AGENTS_BUCKET")
    from functions.settings import get_settings

    get_settings.cache_clear()
    assert "AGENTS_BUCKET" in kb("list").stderr
