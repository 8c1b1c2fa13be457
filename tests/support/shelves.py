"""Knowledge bases for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphs.knowledge.collection import Collection, Progress
from graphs.knowledge.drafts import Draft, make_draft


def draft(kb_id: str, name: str, text: str) -> Draft:
    return make_draft(kb_id, f"{name}.md", text.encode())


async def imported(collection: Collection, kb_id: str, **documents: str) -> list[Progress]:
    """Saves and indexes documents by name; the steps."""
    drafts = [draft(kb_id, name, text) for name, text in documents.items()]
    collection.save(kb_id, drafts)
    return await indexed(collection, kb_id, [one.doc_id for one in drafts])


async def indexed(collection: Collection, kb_id: str, doc_ids: Sequence[str]) -> list[Progress]:
    return [step async for step in collection.index(kb_id, doc_ids)]


async def found(collection: Collection, query: str, kb_id: str | None = None) -> list[str]:
    """Texts of what a search finds."""
    hits: list[Any] = await (await collection.current(kb_id)).retrieve(query, kb_id)
    return [hit.chunk.text for hit in hits]
