"""The first thing a run does that takes a thread over from one that died: what the thread stands on comes into its own epoch.

From then on nothing that the old run writes is read, whenever it arrives. What arrives before the copy counts as if it had come in time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from functions.store import keys
from functions.store.epochs import current
from functions.store.expiry import alive
from functions.store.moving import Move
from functions.store.reading import HEADERS, Reader, Record, record
from functions.store.table import Item

logger = logging.getLogger(__name__)


def seal(reader: Reader, pk: str, epoch: int) -> None:
    """Copies the newest checkpoint of every namespace that a run may go on from, with its writes and payloads; the root's comes last, so
    that after a crash half way the next run does it again."""
    newest = _newest(reader, pk)
    root = newest.get("")
    chosen = [found for namespace, found in newest.items() if namespace and _may_go_on(found, root)]
    for found in [*chosen, *([root] if root else [])]:
        _copy(reader, found, epoch)
    reader.epochs.see(pk, epoch)
    logger.warning("a run of this thread died: the thread goes on in epoch %d with %d checkpoints", epoch, len(chosen) + bool(root))


def _newest(reader: Reader, pk: str) -> Mapping[str, Record]:
    pages = reader.table.query(pk, "c!", keys.after("c!"), ProjectionExpression=HEADERS)
    newest: dict[str, Record] = {}
    for found in map(record, current(item for page in pages for item in alive(page))):
        newest.setdefault(found.address.namespace, found)
    return newest


def _may_go_on(found: Record, root: Record | None) -> bool:
    """A subgraph of a task that the root has not finished began after the root's newest checkpoint. One with a memory of its own
    (`checkpointer=True`) has a namespace without a task and goes on in any later turn."""
    return root is None or ":" not in found.address.namespace or found.checkpoint_id > root.checkpoint_id


def _copy(reader: Reader, found: Record, epoch: int) -> None:
    address = found.address
    move = Move(address.pk, address.thread_id, epoch, reader.payloads.objects)
    sort_key: str = found.item["sk"]["S"]
    parts: list[Item] = []
    for number in range(address.epoch, epoch):
        rest = keys.in_epoch(sort_key, number)[1:]
        for prefix in (f"p{rest}!", f"w{rest}!"):
            parts += [item for page in reader.table.query(address.pk, prefix, keys.after(prefix)) for item in alive(page)]
    reader.table.put_many({item["sk"]["S"]: item for item in map(move, parts)}.values())
    whole = reader.table.get(address.pk, sort_key)
    if whole is not None:
        reader.table.put(move(whole))
