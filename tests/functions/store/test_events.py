"""Batches of frames: whole or absent, of any size, for a while."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from functions.store.clients import Calls
from functions.store.events import MOST_FRAMES, Batch, EventTable, split
from functions.store.table import Table
from tests.support.dynamodb import Dynamo
from tests.support.dynamodb_faults import Fault, Faults


def frames(first: int, count: int = 1, text: str = "x") -> bytes:
    return b"".join(f'id: {number}\ndata: {{"delta":"{text}"}}\n\n'.encode() for number in range(first, first + count))


def batch(first: int, count: int = 1, fence: int = 1, **more: object) -> Batch:
    return replace(Batch(first, count, fence, frames(first, count)), **more)  # type: ignore[arg-type]


def table_of(server: Dynamo, keep_seconds: float = 60) -> EventTable:
    return EventTable(Table(server.tables["events"], server.client, Calls()), keep_seconds)


@pytest.fixture(params=["dynamo", "dynalite"])
def server(request: pytest.FixtureRequest) -> Dynamo:
    found: Dynamo = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def events(server: Dynamo) -> EventTable:
    return table_of(server)


def test_batches_come_back_as_they_were_written(events: EventTable) -> None:
    """By number, with all they say; from the middle of a batch on, the batch that holds it."""
    written = [batch(1, 3, base="c0"), batch(4, 9), batch(13, 1, ends=True)]
    for one in (written[2], written[0], written[1], written[1]):  # a repeated write changes nothing
        events.write("p", "r", one)
    assert list(events.read("p", "r").batches) == written
    assert list(events.read("p", "r", 4).batches) == written[1:]
    assert (list(events.read("p", "r", 13).batches), events.last("p", "r")) == ([], (13, True))
    assert [one.after(5) for one in events.read("p", "r", 5).batches] == [frames(6, 7), frames(13)]


def test_runs_and_threads_share_nothing(events: EventTable) -> None:
    """Whatever separators their ids hold, and however long they are."""
    places = [("p", "r"), ("p", "r!1"), ("p2", "r"), ("p", "r" * 300), ("p", "好" * 250), ("p", "r!0000000001!0000000001")]
    for number, (pk, run) in enumerate(places, 1):
        events.write(pk, run, batch(number))
    for number, (pk, run) in enumerate(places, 1):
        assert [one.first for one in events.read(pk, run).batches] == [number]
    events.delete_thread("p")
    assert [len(events.read(pk, run).batches) for pk, run in places] == [0, 0, 1, 0, 0, 0]


def test_the_same_number_under_two_leases(events: EventTable) -> None:
    """A late write of the old one stays beside its successor's."""
    old, new = batch(5, 3, fence=1), batch(5, 1, fence=2, ends=True)
    for one in (new, old):
        events.write("p", "r", one)
    assert list(events.read("p", "r").batches) == [old, new]


SIZES = {"under an item": 300_000, "over an item": 400_000, "a frame of 8 MB": 8 * 1024 * 1024}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_frame_of_any_size(events: EventTable, size: int) -> None:
    """What does not compress is stored in parts, and is one batch."""
    raw = os.urandom(size // 2).hex()
    events.write("p", "r", batch(1))
    events.write("p", "r", replace(batch(2), frames=frames(2, text=raw)))
    events.write("p", "r", batch(3, ends=True))
    assert b"".join(one.frames for one in events.read("p", "r").batches) == frames(1) + frames(2, text=raw) + frames(3)
    assert events.last("p", "r").number == 3


def test_half_a_batch_is_none(dynamo: Dynamo) -> None:
    """A process that dies between the parts of one leaves nothing that is read; written again it is whole."""
    events = table_of(dynamo)
    large = replace(batch(1), frames=frames(1, text=os.urandom(600_000).hex()))
    with Faults(dynamo.client).inject(Fault.SERVER_ERROR, operation="PutItem", times=99), pytest.raises(Exception, match="PutItem"):
        events.write("p", "r", large)
    assert list(events.read("p", "r").batches) == []
    events.write("p", "r", large)
    assert list(events.read("p", "r").batches) == [large]


def test_the_largest_batch_is_found_from_its_end(events: EventTable) -> None:
    """A read looks as far back as a batch can begin."""
    events.write("p", "r", batch(1, MOST_FRAMES))
    events.write("p", "r", batch(MOST_FRAMES + 1, 1))
    assert [one.first for one in events.read("p", "r", MOST_FRAMES - 1).batches] == [1, MOST_FRAMES + 1]


def test_what_has_expired_is_not_served(server: Dynamo) -> None:
    """DynamoDB removes it up to days later; until then it is told from what never was."""
    events = table_of(server, keep_seconds=-1)
    events.write("p", "r", batch(1, 2))
    assert (list(events.read("p", "r").batches), events.read("p", "r").expired) == ([], True)
    assert not events.read("p", "other").expired
    assert events.last("p", "r") == (2, False)


def test_every_item_expires(dynamo: Dynamo) -> None:
    """Parts too: each has the attribute that the table's TTL is set to."""
    table_of(dynamo, 3_600).write("p", "r", replace(batch(1), frames=frames(1, text=os.urandom(600_000).hex())))
    found = dynamo.client.scan(TableName=dynamo.tables["events"])["Items"]
    assert len(found) > 1
    assert all(0 <= float(item["expires_at"]["N"]) - time.time() - 3_600 + 60 <= 60 for item in found)


def test_split() -> None:
    """Frames are cut where they end, with their numbers."""
    assert split(frames(1, 2)) == [frames(1), frames(2)]
    assert split(b"") == []
