"""Who has a thread, seen from outside: to follow its run, and to stop it.

    l!   stop: the token of the holder that was asked to stop

The holder looks once a second (`functions.runs.lease`). One that has died does not: its lease is cut short, so that the thread is free
soon. That takes nothing from one that lives: it renews its lease when it sees that it is to stop, and one that could not look for so long
asks before it goes on (`functions.store.holding`).
"""

from __future__ import annotations

from dataclasses import dataclass

from botocore.exceptions import ClientError

from functions.store import keys
from functions.store.errors import refused
from functions.store.expiry import now
from functions.store.holding import STOPS_WITHIN
from functions.store.leases import Grant
from functions.store.table import Item, Table

ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Holder:
    """The run that had a thread last. `seconds`: that it has it still, without a sign of life; 0: it has ended, or died."""

    run_id: str
    fence: int
    seconds: float

    @property
    def live(self) -> bool:
        return self.seconds > 0


def holder(table: Table, pk: str) -> Holder | None:
    """None: no run ever had this thread."""
    return _holder(table.get(pk, keys.LEASE))


def ask_to_stop(table: Table, pk: str, run_id: str | None = None) -> Holder | None:
    """Whom it asked; or, unasked, who has the thread instead of `run_id`, or had it last."""
    for _ in range(ATTEMPTS):
        found = table.get(pk, keys.LEASE)
        held = _holder(found)
        if not found or held is None or not held.live or run_id not in (None, held.run_id):
            return held
        until = min(int(found["held_until"]["N"]), int((now() + STOPS_WITHIN) * 1_000))
        values = {":holder": found["holder"], ":until": {"N": str(until)}}
        change = {"UpdateExpression": "SET stop = :holder, held_until = :until", "ConditionExpression": "holder = :holder"}
        try:
            table.update(pk, keys.LEASE, **change, ExpressionAttributeValues=values)
        except ClientError as error:
            if not refused(error):
                raise
            continue
        return held
    return held


def asked_to_stop(table: Table, grant: Grant) -> bool:
    """Read eventually consistent, for half of a read's price: what it misses it sees a second later."""
    found = table.glance(grant.pk, keys.LEASE, "stop")
    return bool(found.get("stop", {}).get("S") == grant.holder)


def _holder(item: Item | None) -> Holder | None:
    if not item or "held_for" not in item:
        return None
    left = int(item["held_until"]["N"]) / 1_000 - now() if "holder" in item else 0.0
    return Holder(item["held_for"]["S"], int(item.get("fence", {"N": "0"})["N"]), max(0.0, left))
