"""Whose calls count: those for the thread's state, and not those that come by the second."""

from __future__ import annotations

import asyncio

from functions.runs.event_log import event_log
from functions.runs.lease import acquire
from functions.runs.live import stop_run
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client
from functions.store.events import Batch
from functions.store.meter import METER, Meter, metered
from tests.support.dynamodb import REGION, Dynamo


async def test_kept_events_and_looks_do_not_count(dynamo: Dynamo) -> None:
    """Neither a batch of events, nor how far a run is numbered, nor the looks that find a stop; the lease beside them does."""
    saver = DynamoDBSaver(dynamo.checkpoints, client=metered(dynamodb_client(dynamo.endpoint, REGION)))
    other = DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)
    METER.set(meter := Meter())
    log = event_log(saver, "t", "r", 60)
    assert log is not None
    await log.write(Batch(1, 1, 1, b"id: 1\ndata: {}\n\n"))
    assert ((await log.last()).number, len((await log.read()).batches), meter.calls) == (1, 1, 0)
    lease = await acquire(saver, "t", run_id="r")
    taken = meter.calls
    loop = asyncio.get_running_loop()
    seen: asyncio.Future[int] = loop.create_future()

    def on_stop() -> None:
        loop.call_soon_threadsafe(seen.set_result, meter.calls)

    lease.beat(lambda: None, on_stop)
    await stop_run(other, "t")
    async with asyncio.timeout(20):
        assert (taken, await seen) == (1, 1)
    await lease.release()
