"""The run that has a thread, seen from any process: who it is, what a request has started, and how it is asked to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from functions.runs.local_lease import ask_local_to_stop, local_holder, local_run_of_request
from functions.store.holders import Holder, ask_to_stop, holder

if TYPE_CHECKING:
    from functions.store.checkpoints import DynamoDBSaver


class Started(NamedTuple):
    """The run that a request has started, under which lease."""

    run_id: str
    fence: int


def _table_saver(checkpointer: Any) -> DynamoDBSaver | None:
    return checkpointer if hasattr(checkpointer, "leases") else None


async def last_holder(checkpointer: Any, thread_id: str) -> Holder | None:
    """The run that has the thread, or had it last; None: there was none, or it ended in a process without a table."""
    if (saver := _table_saver(checkpointer)) is None:
        return local_holder(checkpointer, thread_id)
    return await saver.in_thread(holder, saver.leases.reader.table, saver.partition(thread_id))


async def stop_run(checkpointer: Any, thread_id: str, run_id: str | None = None) -> Holder | None:
    """Asks the thread's live run to stop, if it is `run_id` (None: whichever it is). Returns who has the thread, or had it last."""
    if (saver := _table_saver(checkpointer)) is None:
        return ask_local_to_stop(checkpointer, thread_id, run_id)
    return await saver.in_thread(ask_to_stop, saver.leases.reader.table, saver.partition(thread_id), run_id)


async def run_of_request(checkpointer: Any, thread_id: str, key: str) -> Started | None:
    """The run that this `Idempotency-Key` has started."""
    if (saver := _table_saver(checkpointer)) is None:
        found = local_run_of_request(checkpointer, thread_id, key)
    else:
        found = await saver.in_thread(saver.claims.run_of_request, saver.partition(thread_id), key)
    return Started(*found) if found else None
