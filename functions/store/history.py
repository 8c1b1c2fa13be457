"""The writes that a delta channel is rebuilt from, in two queries per page of ancestors instead of two calls per ancestor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langgraph.checkpoint.base import DeltaChannelHistory

from functions.store import keys
from functions.store.errors import AncestorMissing
from functions.store.reading import Reader, Record
from functions.store.segments import named_by
from functions.store.writes import slots

AT_ONCE = 32
"""Ancestors on the first page: a few turns. The following ones are full pages of 1 MB."""


class BrokenChain(Exception):
    """The parents are not all there, or not in the order of their ids (a clock went back)."""


def delta_history(reader: Reader, address: keys.Address, channels: Sequence[str]) -> dict[str, DeltaChannelHistory]:
    """What `BaseCheckpointSaver.get_delta_channel_history` specifies. Raises `AncestorMissing` instead of leaving out what is lost."""
    try:
        return _history(reader, address, _chains(reader, address), channels)
    except BrokenChain:
        return _history(reader, address, _one_by_one(reader, address), channels)


def _history(
    reader: Reader, address: keys.Address, chains: Iterator[list[Record]], channels: Sequence[str]
) -> dict[str, DeltaChannelHistory]:
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    missing = set(channels)
    for chain in chains:
        _collect(reader, address, chain, missing, found)
        if not missing:
            break
    for entry in found.values():
        entry["writes"].reverse()
    return found


def _chains(reader: Reader, address: keys.Address) -> Iterator[list[Record]]:
    """Ancestors of the checkpoint, the nearest first, page by page; forks beside the path are left out."""
    pages = reader.newest_first(address, address.checkpoint_id, Limit=AT_ONCE)
    page = next((page for page in pages if page), [])
    if not page or address.checkpoint_id not in (None, page[0].checkpoint_id):
        return
    parent, page = page[0].parent, page[1:]
    while parent is not None:
        chain: list[Record] = []
        for candidate in page:
            if candidate.checkpoint_id == parent:
                chain.append(candidate)
                parent = candidate.parent
        yield chain
        following = next(pages, None)
        if following is None and parent is not None:
            raise BrokenChain
        page = following or []


def _one_by_one(reader: Reader, address: keys.Address) -> Iterator[list[Record]]:
    """The same, two calls per ancestor, in whatever order their ids are."""
    target = reader.latest(address) if address.checkpoint_id is None else next(iter(reader.one(address, address.checkpoint_id)), None)
    while target is not None and (parent := target.parent) is not None:
        child, chain = target.checkpoint_id, reader.one(address._replace(checkpoint_id=parent), parent)
        if not chain:
            raise AncestorMissing(
                f"Checkpoint {child!r} of thread {address.thread_id!r} is rebuilt from checkpoint {parent!r}, which was deleted or has "
                "expired. Start a new thread, or fork from a checkpoint that is whole."
            )
        yield chain
        target = chain[0]


def _collect(
    reader: Reader, address: keys.Address, chain: Sequence[Record], missing: set[str], found: dict[str, DeltaChannelHistory]
) -> None:
    """Adds the ancestors' writes, newest first, until each channel meets its seed."""
    pending = reader.writes_of(chain)
    for ancestor in chain:
        if not missing:
            return
        for slot in reversed(slots(pending[ancestor.whose])):
            if slot.channel in missing:
                found[slot.channel]["writes"].append(reader.pending_write(ancestor, slot))
        values = reader.state(ancestor)["channel_values"]
        seeds = missing & values.keys()
        for channel in seeds:
            found[channel]["seed"] = values[channel]
        reader.segments.known.names(address, {channel: cut for channel, cut in named_by(ancestor.item).items() if channel in seeds})
        missing.difference_update(values)
