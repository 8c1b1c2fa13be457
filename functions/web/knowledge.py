"""Who may read and write which knowledge base, and the HTTP status of what goes wrong with one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from functions.runs.errors import MESSAGES
from functions.web.problems import Problem
from functions.web.served import Served
from graphs.knowledge.base import Base
from graphs.knowledge.collection import Collection
from graphs.knowledge.errors import DocumentBusy, ImportRefused, KnowledgeUnavailable


@contextmanager
def telling() -> Iterator[None]:
    """
    Raises:
        Problem: 422 what was given cannot be imported; 409 another import is at work on it; 503 the store cannot be reached.
    """
    try:
        yield
    except ImportRefused as error:
        raise Problem(422, "BAD_INPUT", str(error)) from error
    except DocumentBusy as error:
        raise Problem(409, "DOCUMENT_BUSY", str(error)) from error
    except KnowledgeUnavailable as error:
        raise Problem(503, "KB_INFRA_DOWN", MESSAGES["KB_INFRA_DOWN"]) from error


def collection_of(served: Served) -> Collection:
    """
    Raises:
        Problem: 404, this function has no knowledge bases.
    """
    if not isinstance(served.knowledge, Collection):
        raise Problem(404, "NOT_FOUND", "This agent has no knowledge bases.")
    return served.knowledge


async def readable_base(collection: Collection, kb_id: str, who: str) -> Base | None:
    """The record of a base; None if nobody has made it yet.

    Raises:
        Problem: 403 it is not shared with the caller; 503.
    """
    with telling():
        base = await asyncio.to_thread(collection.base, kb_id)
    if base is not None and not base.may_read(who):
        raise Problem(403, "KB_FORBIDDEN", "This knowledge base is not shared with you.")
    return base


async def check_kb(served: Served, kb_id: object, who: str) -> None:
    """A base that a client names for its run.

    Raises:
        Problem: as `readable_base`.
    """
    if isinstance(kb_id, str) and isinstance(served.knowledge, Collection):
        await readable_base(served.knowledge, kb_id, who)


def may_write(served: Served, base: Base | None, who: str) -> bool:
    """Its owner may, and who makes it; those of the deployment are changed from the command line. On one's own machine everybody may."""
    return base is None or base.owner == who or served.settings.auth == "none"
