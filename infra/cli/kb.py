"""`agents kb`: knowledge bases, filled, listed, emptied. No agent has to run, and no chat model is asked."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.place import On, explaining, fail, find_place

if TYPE_CHECKING:
    from graphs.knowledge.archive import Skipped
    from graphs.knowledge.collection import Collection, Progress
    from graphs.knowledge.drafts import Draft

KbId = Annotated[str, typer.Option("--kb", help="The knowledge base's id.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def import_documents(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Markdown or text files, zip archives, folders of such files.")],
    kb_id: KbId,
    reader: Annotated[
        list[str] | None, typer.Option(help="Who may read a new base: a principal; several times. Everybody without it.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Keep the documents, and do not search them yet.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each step as one JSON object a line.")] = False,
    on: On = "auto",
) -> None:
    """Import documents: each takes the place of its old version at once, when all of it is indexed.

    Exit code 1 if a document could not be imported.
    """
    with explaining(), _telling():
        collection = find_collection(on)
        drafts, skipped = read_paths(kb_id, paths)
        for file in skipped:
            _say({"name": file.name, "status": "skipped", "reason": file.reason}, f"skipped  {file.name}: {file.reason}", as_json)
        if not drafts:
            fail("There is nothing to import.")
        collection.save(kb_id, drafts, readers=tuple(reader) if reader else None)
        done = Counter(draft=len(drafts)) if draft else asyncio.run(_index(collection, kb_id, drafts, as_json))
    counts = done + Counter(skipped=len(skipped))
    _say({"done": dict(counts)}, f"{kb_id}: {', '.join(f'{count} {status}' for status, count in counts.items())}", as_json)
    raise typer.Exit(1 if done["error"] else 0)


async def _index(collection: Collection, kb_id: str, drafts: list[Draft], as_json: bool) -> Counter[str]:
    """Says each end as it comes; where that is a terminal, with a bar on stderr."""
    done: Counter[str] = Counter()
    with typer.progressbar(length=len(drafts), label="documents", file=sys.stderr, hidden=as_json or not sys.stderr.isatty()) as bar:
        async for step in collection.index(kb_id, [draft.doc_id for draft in drafts]):
            if step.status in ("completed", "error"):
                done[step.status] += 1
                bar.update(1)
            if as_json or step.status in ("completed", "error"):
                _say_step(step, as_json)
    return done


def _say_step(step: Progress, as_json: bool) -> None:
    from functions.web.documents import told

    _say(told(step), f"{step.status:<9}  {step.doc_id}: {step.error or f'{step.chunks} chunks'}", as_json)


def list_documents(
    kb_id: Annotated[str | None, typer.Option("--kb", help="Only this knowledge base, with its documents.")] = None,
    as_json: Json = False,
    on: On = "auto",
) -> None:
    """The knowledge bases, or the documents of one."""
    from functions.web.documents import described

    with explaining(), _telling():
        collection = find_collection(on)
        names = collection.shelf.bases() if kb_id is None else [kb_id]
        found = {name: collection.entries(name) for name in names}
    if as_json:
        told = [{"kbId": name, "documents": [described(entry) for entry in entries]} for name, entries in found.items()]
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    from infra.cli.show import clean  # brings httpx

    if not any(found.values()):
        typer.echo(f"There is nothing in {kb_id}." if kb_id else "There are no knowledge bases.", err=True)
    for name, entries in found.items():
        if kb_id is None:
            typer.echo(f"{name}: {len(entries)} documents, {sum(entry.chunks for entry in entries)} chunks")
            continue
        for entry in entries:
            typer.echo(clean(f"{entry.status:<9}  {entry.chunks:>5}  {entry.doc_id}  {entry.error or entry.title}"))


def delete_document(
    doc_id: Annotated[str, typer.Argument(help="The document's id, as `agents kb list --kb ID` shows it.")],
    kb_id: KbId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    on: On = "auto",
) -> None:
    """One document with its chunks. The links to it then lead to nothing."""
    with explaining(), _telling():
        collection = find_collection(on)
        whole = doc_id if doc_id.startswith(f"{kb_id}/") else f"{kb_id}/{doc_id}"
        if whole not in {entry.doc_id for entry in collection.entries(kb_id)}:
            fail(f"There is no document {whole}. What there is: agents kb list --kb {kb_id}")
        if not yes and not typer.confirm(f"Delete {whole}?"):
            raise typer.Exit(1)
        collection.delete(kb_id, whole)
    typer.echo(f"Deleted {whole}.")


def find_collection(on: str) -> Collection:
    """Of a running `agents dev`, or of the bucket that the settings name."""
    from functions.parts.knowledge import make

    place = find_place(on, "local")  # whose threads is of no matter here
    if not place.bucket:
        fail("There is no bucket to keep documents in. Set AGENTS_BUCKET, or start agents dev.")
    return make(place.settings.model_copy(update={"bucket": place.bucket}), place.objects)


def read_paths(kb_id: str, paths: list[Path]) -> tuple[list[Draft], list[Skipped]]:
    """The drafts in files and folders, and what is left out.

    Raises:
        ImportRefused: a file that was named cannot be imported.
    """
    from graphs.knowledge.archive import Skipped
    from graphs.knowledge.errors import ImportRefused
    from graphs.knowledge.files import drafts_of

    drafts: list[Draft] = []
    skipped: list[Skipped] = []
    for path in paths:
        for name, file in _files(path):
            try:
                found, left = drafts_of(kb_id, name, file.read_bytes())
            except ImportRefused as refused:
                if file is path:
                    raise
                skipped.append(Skipped(name, str(refused)))
                continue
            drafts += found
            skipped += left
    return drafts, skipped


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """A file, or those in a folder by their names there; what is hidden is left out."""
    if not path.is_dir():
        yield path.name, path
        return
    for file in sorted(path.rglob("*")):
        inside = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield inside.as_posix(), file


class _telling:
    """Ends the command with a sentence where documents cannot be imported."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        from graphs.knowledge.errors import DocumentBusy, ImportRefused, KnowledgeUnavailable
        from graphs.models import MissingProvider

        if isinstance(error, DocumentBusy | ImportRefused | KnowledgeUnavailable | MissingProvider):
            fail(str(error))


def _say(value: dict[str, object], line: str, as_json: bool) -> None:
    from infra.cli.show import clean

    typer.echo(json.dumps(value, ensure_ascii=False) if as_json else clean(line))
