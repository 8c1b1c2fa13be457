"""What AWS does under load and on a bad day, one fault at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from functions.store import table as store_table
from functions.store.checkpoints import DynamoDBSaver
from functions.store.claims import Claim
from functions.store.clients import CONFIG
from functions.store.errors import StoreError, TableMissing, Throttled
from functions.store.tables import create_tables
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import config, noise, put
from tests.support.dynamodb import Dynamo
from tests.support.dynamodb_faults import Fault, Faults, LaggingReplica

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK repeats at once."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)


@pytest.mark.parametrize("fault", list(Fault))
def test_one_failed_request_is_made_good(dynamo: Dynamo, make_saver: MakeSaver, no_pause: None, fault: Fault) -> None:
    """Whatever happens to it, on the way there or back: the SDK's repetition stores the checkpoint once, and its writes once."""
    client = dynamo.fresh_client()
    saver, faults = make_saver(client=client), Faults(client)
    with faults.inject(fault, operation="PutItem"):
        stored = put(saver, config("t"), {"n": 1})
        assert faults.injected == 1
    with faults.inject(fault, operation="UpdateItem"):
        saver.put_writes(stored, [("n", 2), ("m", 3)], "task")
        assert faults.injected == 1
    with faults.inject(fault, operation="Query"):
        found = [found.pending_writes for found in saver.list(config("t"))]
        assert faults.injected == 1
    assert found == [[("task", "n", 2), ("task", "m", 3)]]


FINAL = {
    Fault.THROTTLED: Throttled,
    Fault.RESET: ConnectionClosedError,
    Fault.SERVER_ERROR: ClientError,
    Fault.HALF_DONE: ClientError,
    Fault.APPLIED_ERROR: ClientError,
    Fault.LOST_ANSWER: ReadTimeoutError,
    Fault.WORST: ReadTimeoutError,
}


@pytest.mark.parametrize("fault", list(Fault))
def test_a_read_that_cannot_be_made_is_an_error(dynamo: Dynamo, make_saver: MakeSaver, no_pause: None, fault: Fault) -> None:
    """Never an empty answer: a run would take the thread for a new one."""
    client = dynamo.fresh_client()
    saver = make_saver(client=client)
    first = put(saver, config("t"), {"n": 1})
    reads: list[Callable[[], object]] = [
        lambda: saver.get_tuple(config("t")),
        lambda: saver.get_tuple(first),
        lambda: list(saver.list(config("t"))),
        lambda: list(saver.list(None)),
    ]
    for read in reads:
        with Faults(client).inject(fault, times=math.inf), pytest.raises(FINAL[fault]):
            read()


@pytest.mark.parametrize("operation", ["PutItem", "Query"])
def test_throttling_that_stays_is_a_clear_error(dynamo: Dynamo, make_saver: MakeSaver, operation: str) -> None:
    """It names table and operation and says what to do."""
    once = CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 2}))
    client = boto3.client("dynamodb", endpoint_url=dynamo.endpoint, config=once)
    saver = make_saver(client=client)
    calls: dict[str, Callable[[], object]] = {"PutItem": lambda: put(saver, config("t")), "Query": lambda: saver.get_tuple(config("t"))}
    said = pytest.raises(Throttled, match=rf"throttled {operation} on table '{dynamo.checkpoints}'.*on-demand")
    with Faults(client).inject(Fault.THROTTLED, operation=operation, times=math.inf), said:
        calls[operation]()


def test_unprocessed_items_are_written_in_the_end(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """A batch that is done in two goes leaves no chunk out, and a delete nothing behind."""
    client = dynamo.fresh_client()
    saver = make_saver(client=client)
    with Faults(client).leave_unprocessed(times=1) as faults:
        put(saver, config("t"), {"blob": noise(1_500_000)})
    assert faults.injected == 1
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["blob"] == noise(1_500_000)
    with Faults(client).leave_unprocessed(times=1) as faults:
        saver.delete_thread("t")
    assert (faults.injected, dynamo.items()) == (1, [])


def test_batches_that_never_get_done_are_a_clear_error(dynamo: Dynamo, make_saver: MakeSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some goes it gives up and says how much is undone; the checkpoint that needs the chunks does not appear."""
    monkeypatch.setattr(store_table, "BATCH_ATTEMPTS", 2)
    client = dynamo.fresh_client()
    Faults(client).leave_all_unprocessed()
    saver = make_saver(client=client)
    with pytest.raises(Throttled, match=r"left 5 of 5 writes .* undone 2 times"):
        put(saver, config("t"), {"blob": noise(1_800_000)})
    assert saver.get_tuple(config("t")) is None


def test_objects_that_s3_did_not_delete_are_deleted_by_the_next_try(make_saver: MakeSaver, s3: S3Client, bucket: str) -> None:
    """S3 says so in an answer that is no error; the caller hears it, although DynamoDB's part is done, and may repeat the call."""
    saver = make_saver(bucket=bucket)
    put(saver, config("t"), {"blob": noise(400_000)})
    with Faults(s3).refuse_deletes(), pytest.raises(StoreError, match="repeat the call"):
        saver.delete_thread("t")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
    saver.delete_thread("t")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_replicas_that_lag_for_ever_change_nothing(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """No read of the saver may come from a replica: not on a run's path, and not where a thread is deleted, copied or pruned."""
    client = dynamo.fresh_client()
    lag = LaggingReplica(client, dynamo.client, dynamo.checkpoints, _replica(dynamo))
    saver = make_saver(client=client, ttl_seconds=60)
    first = put(saver, config("t"), {"n": 1})
    saver.put_writes(first, [("n", 2)], "task")
    put(saver, first, {"n": 2, "blob": noise(400_000)}, run_id="r")
    saver.copy_thread("t", "copy")
    saver.prune(["t"])
    saver.delete_for_runs(["another"])
    found = [len(list(saver.list(config(thread)))) for thread in ("t", "copy")]
    found.append(len(list(saver.list(None))))
    saver.delete_thread("t")
    assert (found, saver.get_tuple(config("t")), lag.stale_reads) == ([1, 2, 3], None, [])


def test_the_replica_lags(dynamo: Dynamo) -> None:
    """The test before this one proves something: a read that is not consistent does get what was there one write ago."""
    client = dynamo.fresh_client()
    lag = LaggingReplica(client, dynamo.client, dynamo.checkpoints, _replica(dynamo), behind=1)
    key = {"pk": {"S": "p"}, "sk": {"S": "s"}}
    for number in ("1", "2"):
        client.put_item(TableName=dynamo.checkpoints, Item={**key, "n": {"N": number}})
    found = [client.get_item(TableName=dynamo.checkpoints, Key=key, ConsistentRead=c)["Item"]["n"]["N"] for c in (True, False)]
    assert (found, lag.stale_reads) == (["2", "1"], ["GetItem"])


def _replica(dynamo: Dynamo) -> str:
    return create_tables(dynamo.client, f"{dynamo.checkpoints}-replica-")["checkpoints"]


def test_a_missing_table_is_named(dynamo: Dynamo) -> None:
    """Which table, where, and how to create it."""
    saver = DynamoDBSaver("nowhere-checkpoints", client=dynamo.client)
    with pytest.raises(TableMissing, match=r"'nowhere-checkpoints' does not exist at http://127.0.0.1:\d+.*create_tables"):
        saver.get_tuple(config("t"))


Change = Callable[[DynamoDBSaver, str], object]


def _take(saver: DynamoDBSaver, pk: str) -> object:
    grant = saver.leases.take(pk, "run", 30)
    return grant.run_id, grant.fence, grant.epoch, grant.dead


def _take_over(saver: DynamoDBSaver, pk: str) -> object:
    saver.leases.take(pk, "dead", -1)
    return _take(saver, pk)


def _beat(saver: DynamoDBSaver, pk: str) -> object:
    return saver.leases.beat(saver.leases.take(pk, "run", 30), 60)


def _give_back(saver: DynamoDBSaver, pk: str) -> object:
    saver.leases.give_back(saver.leases.take(pk, "run", 30))
    return saver.leases.take(pk, "next", 30).dead


def _claim(saver: DynamoDBSaver, pk: str) -> object:
    return saver.claims.claim(pk, "run", {"question": Claim("digest", "yes")}), saver.claims.answers(pk, ["question"])


def _claim_another(saver: DynamoDBSaver, pk: str) -> object:
    saver.claims.claim(pk, "run", {"question": Claim("digest", "yes")})
    return saver.claims.claim(pk, "late", {"question": Claim("other", "no")}), saver.claims.answers(pk, ["question"])


CHANGES: dict[str, tuple[Change, object]] = {
    "take": (_take, ("run", 1, 0, frozenset())),
    "take over": (_take_over, ("run", 2, 1, frozenset({"dead"}))),
    "beat": (_beat, True),
    "give back": (_give_back, frozenset()),
    "claim": (_claim, ([], {"question": Claim("digest", "yes")})),
    "claim another": (_claim_another, (["question"], {"question": Claim("digest", "yes")})),
}
"""What is done under a condition, and what comes of it."""


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.APPLIED_ERROR])
def test_a_repeated_conditional_write_finds_that_it_was_its_own(
    dynamo: Dynamo, make_saver: MakeSaver, no_pause: None, name: str, fault: Fault
) -> None:
    """The answer to any request of it is lost, the SDK repeats it, and the condition fails on what it wrote itself: nobody else has the
    lease, nobody else gave the answer."""
    client = dynamo.fresh_client()
    saver, faults = make_saver(client=client), Faults(client)
    change, wanted = CHANGES[name]
    with faults.count() as requests:
        assert change(saver, saver.partition("counted")) == wanted
    for number in range(requests.seen):
        with faults.inject(fault, first=number):
            assert change(saver, saver.partition(f"t{number}")) == wanted, f"request {number}"
