"""A whole thread goes: its live run first, then all that is stored of it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from functions.runs.event_log import forget_thread
from functions.runs.lease import acquire
from functions.runs.live import stop_run

DELETES_WITHIN = 15.0
"""Seconds that the thread's run has to end; one that has died is out of the way by then (`functions.store.holders`)."""
LEASE_SECONDS = 120.0
"""The deletion has the thread for so long, should it be cut off: it can be repeated after that."""


async def delete_thread(checkpointer: Any, thread_id: str) -> None:
    """Stops what runs, takes the thread, and deletes events, checkpoints, writes, objects, and at last the lease. Who had the thread cannot
    write into it any more.

    Raises:
        RunInProgress: the run does not end.
    """
    await stop_run(checkpointer, thread_id)
    lease = await acquire(checkpointer, thread_id, run_id=f"delete-{uuid4()}", seconds=LEASE_SECONDS, wait=DELETES_WITHIN)
    try:
        forget_thread(checkpointer, thread_id)
        await checkpointer.adelete_thread(thread_id)
    finally:
        await lease.release()
