"""`GET /kb`: what a citation's link opens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from functions.web.current import Caller, Here
from functions.web.knowledge import collection_of, readable_base, telling
from functions.web.problems import Problem

router = APIRouter(prefix="/kb", responses={403: {"description": "The knowledge base is not shared with the caller."}})

Id = Annotated[str, Query(min_length=1, max_length=512)]


@router.get("", summary="The chunk that a citation names", responses={404: {"description": "It is gone, or never was."}})
async def chunk(served: Here, who: Caller, doc: Id, chunk: Id) -> dict[str, Any]:
    """`/kb?doc=<docId>&chunk=<id>`, as answers cite it."""
    collection = collection_of(served)
    kb_id, slash, _ = doc.partition("/")
    if slash:
        await readable_base(collection, kb_id, who)
    with telling():
        found = await collection.chunk(doc, chunk)
    if found is None:
        raise Problem(404, "NOT_FOUND", "There is no such passage any more: its document was replaced or deleted.")
    return {
        "kbId": found.kb_id,
        "docId": found.doc_id,
        "chunkId": found.chunk_id,
        "headings": list(found.headings),
        "text": found.text,
        "page": found.page,
        "link": found.link,
    }
