"""What AWS does under load and moto never does."""

from __future__ import annotations

from collections.abc import Callable

import boto3
import pytest
from botocore.config import Config

from functions.store import table as store_table
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import CONFIG
from functions.store.errors import TableMissing, Throttled
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import config, noise, put
from tests.support.dynamodb import Dynamo, Faults


def test_a_throttled_call_is_retried(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """One refusal costs a pause and nothing else."""
    client = dynamo.fresh_client()
    faults = Faults(client)
    faults.throttle("PutItem", times=1)
    saver = make_saver(client=client)
    put(saver, config("t"), {"n": 1})
    assert (faults.injected, len(list(saver.list(config("t"))))) == (1, 1)


@pytest.mark.parametrize("operation", ["PutItem", "Query"])
def test_throttling_that_stays_is_a_clear_error(dynamo: Dynamo, make_saver: MakeSaver, operation: str) -> None:
    """It names table and operation and says what to do; a read never becomes an empty answer."""
    once = CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 2}))
    client = boto3.client("dynamodb", endpoint_url=dynamo.endpoint, config=once)
    Faults(client).throttle(operation, times=1_000)
    saver = make_saver(client=client)
    calls: dict[str, Callable[[], object]] = {"PutItem": lambda: put(saver, config("t")), "Query": lambda: saver.get_tuple(config("t"))}
    with pytest.raises(Throttled, match=rf"throttled {operation} on table '{dynamo.checkpoints}'.*on-demand"):
        calls[operation]()


def test_unprocessed_items_are_written_in_the_end(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """A batch that is done in three goes leaves no chunk out, and a delete nothing behind."""
    client = dynamo.fresh_client()
    faults = Faults(client)
    faults.leave_unprocessed(times=3)
    saver = make_saver(client=client)
    put(saver, config("t"), {"blob": noise(1_500_000)})
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["blob"] == noise(1_500_000)
    faults.injected = 0
    saver.delete_thread("t")
    assert dynamo.items() == []


def test_batches_that_never_get_done_are_a_clear_error(dynamo: Dynamo, make_saver: MakeSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some goes it gives up and says how much is undone; the checkpoint that needs the chunks does not appear."""
    monkeypatch.setattr(store_table, "BATCH_ATTEMPTS", 2)
    client = dynamo.fresh_client()
    Faults(client).leave_all_unprocessed()
    saver = make_saver(client=client)
    with pytest.raises(Throttled, match=r"left 5 of 5 writes .* undone 2 times"):
        put(saver, config("t"), {"blob": noise(1_800_000)})
    assert saver.get_tuple(config("t")) is None


def test_a_missing_table_is_named(dynamo: Dynamo) -> None:
    """Which table, where, and how to create it."""
    saver = DynamoDBSaver("nowhere-checkpoints", client=dynamo.client)
    with pytest.raises(TableMissing, match=r"'nowhere-checkpoints' does not exist at http://127.0.0.1:\d+.*create_tables"):
        saver.get_tuple(config("t"))
