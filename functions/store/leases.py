"""The lease of a thread: one run at a time, in one item that is taken and given back by conditional writes.

    l!   holder (a token of the run's own), held_for (its run id), held_until (milliseconds since 1970), fence, epoch,
         dead (ids of the runs that it was taken over from)

A lease is judged by `held_until`, never by its being deleted. It is given back without `holder`; one that still has it, but is over,
belonged to a run that died: who takes it then raises the epoch, so that what the dead one may still write is not read
(`functions.store.epochs`).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from functions.store import keys
from functions.store.errors import ThreadBusy, error_code
from functions.store.expiry import expiring, now
from functions.store.reading import Reader
from functions.store.table import Item
from functions.store.takeover import seal

FREE = "attribute_not_exists(holder)"
OVER = "holder = :old AND held_until = :old_until"
OURS = "holder = :holder"


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that was taken. `fence` counts the thread's leases; `died`: id of the run it was taken over from."""

    pk: str
    holder: str
    run_id: str
    fence: int
    epoch: int
    died: str | None
    dead: frozenset[str] = frozenset()
    """All that died on this thread, by the ids of their runs."""


@dataclass(frozen=True, slots=True)
class Leases:
    """The leases of one saver's threads."""

    reader: Reader
    ttl_seconds: int | None

    def take(self, pk: str, run_id: str, seconds: float) -> Grant:
        """For so many seconds from now. Raises `ThreadBusy`, with the run that has it."""
        holder = uuid.uuid4().hex
        try:
            return self._take(pk, holder, run_id, seconds)
        except ThreadBusy:
            raise
        except BaseException:
            # it may be ours, and not sealed: who comes next must not wait for it, and takes it over
            self.give_back(Grant(pk, holder, run_id, 0, 0, None), clean=False)
            raise

    def _take(self, pk: str, holder: str, run_id: str, seconds: float) -> Grant:
        died, epoch = None, None
        found = self._write(pk, holder, run_id, seconds, FREE)
        while not found or _text(found, "holder") != holder:
            if "holder" not in found:  # given back, or deleted with its thread, since the write was refused
                found = self._write(pk, holder, run_id, seconds, FREE)
                continue
            if (left := _number(found, "held_until") / 1_000 - now()) > 0:
                raise ThreadBusy(_text(found, "held_for"), left)
            died, epoch = _text(found, "held_for"), 1 + max(_number(found, "epoch"), self.reader.look_up_epoch(pk))
            found = self._write(pk, holder, run_id, seconds, OVER, found, epoch)
        dead = frozenset(found.get("dead", {}).get("SS", ()))
        grant = Grant(pk, holder, run_id, _number(found, "fence"), _number(found, "epoch"), died, dead)
        if grant.epoch == epoch:
            seal(self.reader, pk, epoch)
        return grant

    def _write(
        self, pk: str, holder: str, run_id: str, seconds: float, condition: str, old: Item | None = None, epoch: int | None = None
    ) -> Item:
        """The lease as it is afterwards: ours, another's, or nobody's any more."""
        kept = expiring(pk, self.ttl_seconds)
        values = {":holder": {"S": holder}, ":run": {"S": run_id}, ":until": _until(seconds), ":one": {"N": "1"}}
        values |= {":old": old["holder"], ":old_until": old["held_until"]} if old else {}
        values |= {":epoch": {"N": str(epoch)}, ":dead": {"SS": [_text(old, "held_for")]}} if old and epoch is not None else {}
        values |= {f":{name}": value for name, value in kept.items()}
        settings = ["holder = :holder", "held_for = :run", "held_until = :until", *(f"{name} = :{name}" for name in kept)]
        settings += ["epoch = :epoch"] if epoch is not None else []
        counted = "fence :one, dead :dead" if epoch is not None else "fence :one"
        request: dict[str, Any] = {
            "UpdateExpression": f"SET {', '.join(settings)} ADD {counted}",
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
        }
        return self._conditional(pk, condition, request)

    def _conditional(self, pk: str, condition: str, request: dict[str, Any]) -> Item:
        """A write whose answer was lost is repeated by the SDK and then finds its own token: the item as it is tells."""
        table = self.reader.table
        try:
            return table.update(pk, keys.LEASE, ConditionExpression=condition, **request)
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
        return table.get(pk, keys.LEASE) or {}

    def beat(self, grant: Grant, seconds: float) -> bool:
        """Holds it for so many seconds from now. False: it is another's, or gone."""
        request = {
            "UpdateExpression": "SET held_until = :until",
            "ExpressionAttributeValues": {":holder": {"S": grant.holder}, ":until": _until(seconds)},
            "ReturnValues": "ALL_NEW",
        }
        return _text(self._conditional(grant.pk, OURS, request), "holder") == grant.holder

    def give_back(self, grant: Grant, *, clean: bool = True) -> None:
        """Not clean: something of this run may still be written, so who comes next takes it over."""
        values: Item = {":holder": {"S": grant.holder}}
        if clean:
            request = {"UpdateExpression": "REMOVE holder, held_until", "ExpressionAttributeValues": values}
        else:
            request = {"UpdateExpression": "SET held_until = :zero", "ExpressionAttributeValues": {**values, ":zero": {"N": "0"}}}
        self._conditional(grant.pk, OURS, request)


def _until(seconds: float) -> Item:
    return {"N": str(int((now() + seconds) * 1_000))}


def _text(item: Item, name: str) -> str:
    text: str = item.get(name, {}).get("S", "")
    return text


def _number(item: Item, name: str) -> int:
    return int(item.get(name, {}).get("N", "0"))
