"""Many threads, one after the other, each with its row in the list of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import Calls
from functions.store.imports.contents import AsTheyAre, Through, asked
from functions.store.imports.copying import Copied, ThreadCopy
from functions.store.imports.foreign import Source, SourceError
from functions.store.imports.reading import SourceReader
from functions.store.threads import Threads

LOOKED_AT = 10
"""Checkpoints that are searched for a conversation's title."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Whose list the threads come into, and what those are called of which the user's first words are not found."""

    threads: Threads
    principal: str
    agent: str
    untitled: str


def import_threads(
    source: Source,
    saver: DynamoDBSaver,
    thread_ids: Sequence[str],
    *,
    listing: Listing | None = None,
    serde: SerializerProtocol | None = None,
    dry_run: bool = False,
) -> Iterator[Copied]:
    """Copies threads with all namespaces, checkpoints, parents, metadata and pending writes; open interrupts stay open.

    Repeatable: what is there stays, what is new is added, and a thread that went on here is skipped. `saver` is a view of the owner's
    threads (`DynamoDBSaver.for_principal`) with the `ttl_seconds` that they are to have from now on. `serde` reads the data where its
    bytes cannot be kept (encryption); the saver's own writes it then. `dry_run` reads everything and writes nothing.

    Yields one result per thread. Raises `StoreError` for what concerns all of them: call again when it is mended.
    """
    contents = AsTheyAre() if serde is None else Through(serde, saver.serde)
    reader = SourceReader(source, contents, Calls())
    for thread_id in thread_ids:
        try:
            copied = ThreadCopy(reader, saver, dry_run).run(thread_id)
        except SourceError as error:
            copied = Copied(thread_id, skipped=str(error), failed=True)
        if listing is not None and not copied.skipped and not dry_run:
            _list(reader, listing, copied)
        yield copied


def _list(reader: SourceReader, listing: Listing, copied: Copied) -> None:
    """The row comes last: a thread that is in the list is whole."""
    row = listing.threads.get(listing.principal, copied.thread_id, agent=listing.agent)
    if row is None or copied.checkpoints:
        title = row.title if row else _title(reader, copied.thread_id) or listing.untitled
        listing.threads.touch(listing.principal, copied.thread_id, agent=listing.agent, title=title)


def _title(reader: SourceReader, thread_id: str) -> str:
    headers = [header for header in reader.source.headers(thread_id) if not header.namespace]
    for header in headers[:LOOKED_AT]:
        found = reader.state(header)
        if found is not None and (text := asked(reader.contents, found[0], found[2])):
            return text
    return ""
