"""Every call of every operation of the saver, failing in every way: a checkpoint is whole or absent, and a repetition completes it."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from langchain_core.runnables import RunnableConfig

from functions.store import keys, payloads, writes
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client, s3_client
from functions.store.errors import StoreError
from functions.store.payloads import Objects, Payloads
from functions.store.tables import create_tables
from tests.support.checkpoints import checkpoint, config, noise
from tests.support.dynamodb import REGION
from tests.support.dynamodb_faults import Fault, Faults

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

OLD, NEW = (f"1ef00000-0000-6000-8000-00000000000{number}" for number in (1, 2))
LARGE = noise(5_000)
"""More than an item may hold here: two chunks, or an object."""
Saver = DynamoDBSaver
View = dict[tuple[str, str], Any]
"""(thread, checkpoint id) → what is read there."""


@dataclass(frozen=True)
class Store:
    """Clients, and what one test has for itself; each of its cases has a principal of its own."""

    dynamodb: DynamoDBClient
    s3: S3Client
    bucket: str
    table: str

    def saver(self, principal: str, where: str) -> Saver:
        """`where`: chunks or bucket, the place of large payloads."""
        bucket = self.bucket if where == "bucket" else None
        saver = DynamoDBSaver(self.table, client=self.dynamodb, objects_client=self.s3, bucket=bucket)
        return saver.for_principal(principal)


@pytest.fixture(scope="module")
def clients(moto_endpoint: str) -> tuple[DynamoDBClient, S3Client]:
    return dynamodb_client(moto_endpoint, REGION), s3_client(moto_endpoint, REGION)


@pytest.fixture
def store(clients: tuple[DynamoDBClient, S3Client], bucket: str) -> Store:
    return Store(*clients, bucket, create_tables(clients[0], f"t{uuid.uuid4().hex}-")["checkpoints"])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK repeats at once, and 4 KB or 4 writes are all that an item holds: 400 KB and 50 cost an emulator ten times as long."""
    monkeypatch.setattr(Payloads.cells, "__defaults__", (4_000,))
    monkeypatch.setattr(writes, "INLINE_BYTES", 4_000)
    monkeypatch.setattr(writes, "SLOTS_PER_ITEM", 4)
    monkeypatch.setattr(payloads, "CHUNK_BYTES", 3_000)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)


def first(saver: Saver) -> None:
    """A thread with one checkpoint, and writes to it."""
    _put(saver, config("t"), OLD)
    saver.put_writes(config("t", checkpoint_id=OLD), [("n", 1)], "earlier")


def second(saver: Saver) -> None:
    _put(saver, config("t", checkpoint_id=OLD), NEW)


def _put(saver: Saver, at: RunnableConfig, own_id: str) -> None:
    made = checkpoint({"id": own_id, "blob": LARGE}, own_id) | {"ts": "2026-01-01T00:00:00+00:00"}
    saver.put(at, made, {"source": "loop", "step": 0, "run_id": "run"}, made["channel_versions"])


def both(saver: Saver) -> None:
    first(saver)
    second(saver)


def pending(*given: tuple[str, Any]) -> Callable[[Saver], None]:
    return lambda saver: saver.put_writes(config("t", checkpoint_id=OLD), given, "task")


OPERATIONS: dict[str, tuple[Callable[[Saver], None], Callable[[Saver], None]]] = {
    "put": (first, second),
    "put_writes": (first, pending(*(("n", number) for number in range(6)))),
    "put_writes, large": (first, pending(("n", LARGE))),
    "put_writes, special": (first, pending(("__interrupt__", [1]))),
    "delete_thread": (both, lambda saver: saver.delete_thread("t")),
    "copy_thread": (first, lambda saver: saver.copy_thread("t", "u")),
    "prune": (both, lambda saver: saver.prune(["t"])),
    "delete_for_runs": (both, lambda saver: saver.delete_for_runs(["run"])),
}
"""What is there before, and the operation."""


LONG, SLOW = pytest.mark.long, ("prune", "delete_for_runs", "copy_thread")
HELD = ["put", "put_writes, large", "copy_thread"]
CASES = [(name, "bucket") for name in OPERATIONS] + [pytest.param(name, "chunks", marks=pytest.mark.long) for name in HELD]
"""Where payloads lie makes no difference to the others."""


def view(saver: Saver) -> View:
    """All that can be read. It raises where something is stored in part."""
    found = {}
    for thread in ("t", "u"):
        for at in saver.list(config(thread)):
            own_id = at.config["configurable"]["checkpoint_id"]
            found[thread, own_id] = (at.checkpoint["channel_values"], at.metadata, at.parent_config, at.pending_writes)
    return found


def each_request(store: Store, name: str, where: str) -> Iterator[tuple[int, Saver, View]]:
    """One principal for every request that the operation sends, with its number, and what is to be read in the end."""
    prepare, act = OPERATIONS[name]
    model = store.saver(uuid.uuid4().hex, where)
    prepare(model)
    with Faults(store.dynamodb, store.s3).count() as requests:
        act(model)
    wanted = view(model)
    _delete(model)
    for number in range(requests.seen):
        saver = store.saver(uuid.uuid4().hex, where)
        prepare(saver)
        yield number, saver, wanted
        if name == "delete_for_runs":
            _delete(saver)


def _delete(saver: Saver) -> None:
    """delete_for_runs scans the table: how many calls that takes must not depend on the cases before."""
    for thread in ("t", "u"):
        saver.delete_thread(thread)


def is_whole(name: str, before: View, found: View, wanted: View) -> bool:
    """Each checkpoint is as it was or as it is to be; only where many are changed may some be the one and some the other."""
    if name.startswith("put"):
        return found in (before, wanted)
    return all(value in (before.get(at), wanted.get(at)) for at, value in found.items()) and set(found) >= set(before) & set(wanted)


@pytest.mark.parametrize(("name", "where"), [case for case in CASES if case[0] not in ("prune", "delete_for_runs")])
def test_one_bad_request_changes_nothing(store: Store, name: str, where: str) -> None:
    """The SDK repeats it, and what was applied already, half or all of it, is applied once more with no effect."""
    for number, saver, wanted in each_request(store, name, where):
        with Faults(store.dynamodb, store.s3).inject(Fault.WORST, first=number) as faults:
            OPERATIONS[name][1](saver)
        assert (faults.injected, view(saver)) == (1, wanted), f"request {number}"


@pytest.mark.parametrize(("name", "where"), [pytest.param(*case, marks=LONG) if case[0] in SLOW else case for case in CASES])
def test_an_outage_from_any_request_on_leaves_each_checkpoint_whole_or_absent(store: Store, name: str, where: str) -> None:
    """The caller gets an error, a reader the state before or after (S3 done without DynamoDB too), and the same call once more the rest."""
    for number, saver, wanted in each_request(store, name, where):
        before = view(saver)
        outage = Faults(store.dynamodb, store.s3).inject(Fault.WORST, Fault.RESET, first=number, times=math.inf)
        with outage, pytest.raises((BotoCoreError, ClientError, StoreError)):
            OPERATIONS[name][1](saver)
        assert is_whole(name, before, view(saver), wanted), f"request {number}"
        OPERATIONS[name][1](saver)
        assert view(saver) == wanted, f"request {number}"


@pytest.mark.parametrize("failing", ["dynamodb", "s3"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_one_service_down_leaves_nothing_behind_that_delete_thread_does_not_find(store: Store, name: str, failing: str) -> None:
    """S3 fails after DynamoDB succeeded, or the reverse, and nobody repeats the call: items and objects without an owner go with the
    thread."""
    down = Faults(getattr(store, failing)).inject(Fault.RESET, times=math.inf)
    saver = store.saver(principal := uuid.uuid4().hex, "bucket")
    OPERATIONS[name][0](saver)
    try:
        with down:
            OPERATIONS[name][1](saver)
    except (BotoCoreError, ClientError, StoreError):
        assert all(found in (OLD, NEW) for _, found in view(saver))
    _delete(saver)
    assert _left(store, principal) == (0, 0)


def _left(store: Store, principal: str) -> tuple[int, int]:
    """Items and objects of the principal's threads."""
    items = objects = 0
    for pk in (keys.partition(principal, thread) for thread in ("t", "u")):
        own = {":pk": {"S": pk}}
        items += store.dynamodb.query(TableName=store.table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=own)["Count"]
        prefix = Objects(store.s3, store.bucket, store.table).prefix(pk)
        objects += store.s3.list_objects_v2(Bucket=store.bucket, Prefix=prefix)["KeyCount"]
    return items, objects
