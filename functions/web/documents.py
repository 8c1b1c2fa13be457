"""`/kb/documents`: the documents of a knowledge base, imported, listed, deleted. An import answers with its progress in JSON lines."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from functions.settings import LOCAL_USER
from functions.web.current import Caller, Here
from functions.web.knowledge import collection_of, may_write, readable_base, telling
from functions.web.problems import Problem
from functions.web.run_input import read_body
from functions.web.served import Served
from graphs.knowledge.archive import Skipped
from graphs.knowledge.base import EVERYBODY, Base, Entry
from graphs.knowledge.collection import Collection, Progress
from graphs.knowledge.drafts import check_kb_id
from graphs.knowledge.errors import KnowledgeUnavailable
from graphs.knowledge.files import drafts_of

log = logging.getLogger(__name__)

BROKE_OFF = "The store could not be reached. Import the document again."

router = APIRouter(
    prefix="/kb",
    responses={
        403: {"description": "The knowledge base is not shared with the caller, or not theirs to change."},
        503: {"description": "The store cannot be reached, or there is none."},
    },
)
KbId = Annotated[str, Query(alias="kb", min_length=1, max_length=128)]
Name = Annotated[str, Query(max_length=256, description="Ends in `.md`, `.markdown`, `.txt`, `.text` or `.zip`.")]
DocId = Annotated[str, Query(alias="doc", min_length=1, max_length=512)]
LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A line for each step of a document (`docId`, `status`: draft, indexing, completed, error), one for each file that "
        "was skipped, and a last one with `done`: how many of each.",
        "content": {"application/x-ndjson": {}},
    },
    409: {"description": "Another import of one of the documents is at work: nothing was changed."},
    413: {"description": "The file is too large."},
    422: {"description": "The file cannot be imported."},
}
BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}


@router.get("/bases", summary="The knowledge bases that the caller may read")
async def bases(served: Here, who: Caller) -> dict[str, Any]:
    collection = collection_of(served)
    with telling():
        found = await asyncio.to_thread(lambda: [base for kb_id in collection.shelf.bases() if (base := collection.base(kb_id))])
    own = [
        {"kbId": base.kb_id, "documents": len(base.documents), "writable": may_write(served, base, who)}
        for base in found
        if base.may_read(who)
    ]
    return {"bases": own, "samples": sorted(collection.samples.kb_ids)}


@router.get("/documents", summary="The documents of a knowledge base")
async def documents(served: Here, who: Caller, kb_id: KbId) -> dict[str, Any]:
    collection = collection_of(served)
    base = await readable_base(collection, kb_id, who)
    now = collection.clock()
    entries = [described(entry.seen(now)) for _, entry in sorted(base.documents.items())] if base else []
    return {"kbId": kb_id, "documents": entries, "writable": may_write(served, base, who)}


@router.post("/documents", response_class=StreamingResponse, responses=LINES, openapi_extra=BODY, summary="Import a file")
async def import_file(request: Request, served: Here, who: Caller, kb_id: KbId, name: Name, draft: bool = False) -> StreamingResponse:
    """The body is the file. `draft=true` keeps it without searching it yet: see `/kb/index`."""
    collection = await _writable(served, kb_id, who)
    data = await read_body(request, served.settings.max_body_bytes)
    with telling():
        check_kb_id(kb_id)
        drafts, skipped = await asyncio.to_thread(drafts_of, kb_id, name, data)
        readers = (EVERYBODY,) if who == LOCAL_USER else (who,)
        guard = partial(_guard, served, who)
        saved = await asyncio.to_thread(collection.save, kb_id, drafts, owner=who, readers=readers, guard=guard)
    steps = [Progress(entry.doc_id, "draft") for entry in saved]
    if draft or not drafts:
        return _lines(steps, _nothing(), skipped)
    wanted = [one.doc_id for one in drafts]
    return _lines(steps, await _begun(collection, kb_id, wanted), skipped, wanted)


@router.post("/index", response_class=StreamingResponse, responses=LINES, summary="Index drafts, or again what failed")
async def index(served: Here, who: Caller, kb_id: KbId, doc_ids: Annotated[list[str], Query(alias="doc")]) -> StreamingResponse:
    collection = await _writable(served, kb_id, who)
    wanted = list(dict.fromkeys(doc_ids))
    return _lines([], await _begun(collection, kb_id, wanted), [], wanted)


@router.delete("/documents", summary="Delete a document", responses={404: {"description": "There is no such document."}})
async def delete(served: Here, who: Caller, kb_id: KbId, doc_id: DocId) -> dict[str, str]:
    collection = await _writable(served, kb_id, who)
    with telling():
        if not await asyncio.to_thread(collection.delete, kb_id, doc_id):
            raise Problem(404, "NOT_FOUND", "There is no such document.")
    return {"deleted": doc_id}


async def _writable(served: Served, kb_id: str, who: str) -> Collection:
    """
    Raises:
        Problem: 503 there is no bucket; 403 the base is not the caller's to change.
    """
    collection = collection_of(served)
    if not served.settings.bucket:
        raise Problem(503, "NO_STORE", "There is no bucket to keep documents in. Set AGENTS_BUCKET.")
    base = await readable_base(collection, kb_id, who)
    _guard(served, who, base)
    return collection


def _guard(served: Served, who: str, base: Base | None) -> None:
    if not may_write(served, base, who):
        raise Problem(403, "KB_FORBIDDEN", "This knowledge base is not yours to change.")


async def _begun(collection: Collection, kb_id: str, doc_ids: Sequence[str]) -> AsyncIterator[Progress]:
    """The import, claimed before the answer begins: what is refused is still a status."""
    steps = collection.index(kb_id, doc_ids)
    with telling():
        first = await anext(steps)

    async def all_of_it() -> AsyncIterator[Progress]:
        yield first
        async for step in steps:
            yield step

    return all_of_it()


async def _nothing() -> AsyncIterator[Progress]:
    nothing: tuple[Progress, ...] = ()
    for step in nothing:
        yield step


def _lines(
    begun: Sequence[Progress], steps: AsyncIterator[Progress], skipped: Sequence[Skipped], wanted: Sequence[str] = ()
) -> StreamingResponse:
    """`wanted`: the documents whose steps these are; each has an end, also when the store fails."""

    async def lines() -> AsyncIterator[bytes]:
        last: dict[str, str] = {}
        for file in skipped:
            yield _line({"name": file.name, "status": "skipped", "reason": file.reason})
        for step in begun:
            last[step.doc_id] = step.status
            yield _line(told(step))
        try:
            async for step in steps:
                last[step.doc_id] = step.status
                yield _line(told(step))
        except KnowledgeUnavailable:
            log.exception("an import broke off")
            for doc_id in [one for one in wanted if last.get(one) not in ("completed", "error")]:
                last[doc_id] = "error"
                yield _line(told(Progress(doc_id, "error", error=BROKE_OFF)))
        statuses = [*last.values(), *("skipped" for _ in skipped)]
        yield _line({"done": {status: statuses.count(status) for status in dict.fromkeys(statuses)}})

    return StreamingResponse(lines(), media_type="application/x-ndjson", headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})


def told(step: Progress) -> dict[str, Any]:
    """A step as a line of an answer."""
    more = {"chunks": step.chunks} if step.chunks else {}
    return {"docId": step.doc_id, "status": step.status, **more, **({"error": step.error} if step.error else {})}


def described(entry: Entry) -> dict[str, Any]:
    """A document as lists show it; `updatedAt` in milliseconds since 1970."""
    told = {
        "docId": entry.doc_id,
        "title": entry.title,
        "status": entry.status,
        "chunks": entry.chunks,
        "characters": entry.characters,
        "updatedAt": round(entry.updated_at * 1_000),
    }
    return {**told, **({"error": entry.error} if entry.error else {})}


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
