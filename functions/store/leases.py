"""The lease of a thread: one run at a time, in one item that is taken and given back by conditional writes.

    l!   holder (a token of the run's own), held_for (its run id), held_until (milliseconds since 1970), fence, epoch,
         request_key (the `Idempotency-Key` of the run that has it, from the first moment on: a repetition that comes beside it knows it),
         dead (ids of the runs that it was taken over from), code (the version that the thread belongs to: that of its first run, until a
         later one has looked at what was open),
         hop (the invocation that may take it on as it is, by its number: the run that has it is handed over)

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
from functions.store.errors import ThreadBusy, refused
from functions.store.expiry import expiring, now
from functions.store.reading import Reader
from functions.store.table import Item
from functions.store.takeover import seal

FREE = "attribute_not_exists(holder)"
OVER = "holder = :old AND held_until = :old_until"
OURS = "holder = :holder"


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that was taken. `fence` counts the thread's leases; `dead`: the runs that it was ever taken over from; `code`: the version
    of the code that the thread belongs to, empty where that is not known."""

    pk: str
    holder: str
    run_id: str
    fence: int
    epoch: int
    dead: frozenset[str] = frozenset()
    code: str = ""


@dataclass(frozen=True, slots=True)
class Leases:
    """The leases of one saver's threads."""

    reader: Reader
    ttl_seconds: int | None

    def take(self, pk: str, run_id: str, seconds: float, code: str = "", request_key: str = "") -> Grant:
        """For so many seconds from now. A thread without a version of code belongs to `code` then. Raises `ThreadBusy`, with the run that
        has it, and its key."""
        holder = uuid.uuid4().hex
        try:
            return self._take(pk, holder, run_id, seconds, code, request_key)
        except ThreadBusy:
            raise
        except BaseException:
            # it may be ours, and not sealed: who comes next must not wait for it, and takes it over
            self.give_back(Grant(pk, holder, run_id, fence=0, epoch=0), clean=False)
            raise

    def _take(self, pk: str, holder: str, run_id: str, seconds: float, code: str, request_key: str) -> Grant:
        kept = expiring(pk, self.ttl_seconds)
        ours = {":holder": {"S": holder}, ":run": {"S": run_id}, ":until": _until(seconds), ":one": {"N": "1"}}
        ours |= {f":{name}": value for name, value in kept.items()}
        first = ["code = if_not_exists(code, :code)"] if code else []
        first += ["request_key = :key"] if request_key else []
        ours |= {name: {"S": value} for name, value in ((":code", code), (":key", request_key)) if value}
        setting = ", ".join(["SET holder = :holder, held_for = :run, held_until = :until", *first, *(f"{name} = :{name}" for name in kept)])
        rest = " ADD fence :one" if request_key else " REMOVE request_key ADD fence :one"
        epoch: int | None = None
        found: Item = {}
        while _text(found, "holder") != holder:
            if "holder" not in found:  # nobody's: not yet, given back, or deleted with its thread since a write was refused
                found = self._update(pk, FREE, setting + rest, ours)
                continue
            if (left := _number(found, "held_until") / 1_000 - now()) > 0:
                raise ThreadBusy(_text(found, "held_for"), left, _text(found, "request_key"))
            epoch = 1 + max(_number(found, "epoch"), self.reader.look_up_epoch(pk))
            over = {":old": found["holder"], ":old_until": found["held_until"], ":dead": {"SS": [_text(found, "held_for")]}}
            values = {**ours, **over, ":epoch": {"N": str(epoch)}}
            found = self._update(pk, OVER, f"{setting}, epoch = :epoch{rest}, dead :dead", values)
        dead = frozenset(found.get("dead", {}).get("SS", ()))
        grant = Grant(pk, holder, run_id, _number(found, "fence"), _number(found, "epoch"), dead, _text(found, "code"))
        if grant.epoch == epoch:
            seal(self.reader, pk, epoch)
        return grant

    def _update(self, pk: str, condition: str, change: str, values: Item) -> Item:
        """The lease as it is afterwards, changed or not. A write whose answer was lost is repeated by the SDK, and refused by what it has
        written itself: the holder's token tells."""
        request: dict[str, Any] = {"UpdateExpression": change, "ExpressionAttributeValues": values, "ReturnValues": "ALL_NEW"}
        table = self.reader.table
        try:
            return table.update(pk, keys.LEASE, ConditionExpression=condition, **request)
        except ClientError as error:
            if not refused(error):
                raise
        return table.get(pk, keys.LEASE) or {}

    def beat(self, grant: Grant, seconds: float) -> bool:
        """Holds it for so many seconds from now. False: it is another's, or gone."""
        values = {":holder": {"S": grant.holder}, ":until": _until(seconds)}
        return _text(self._update(grant.pk, OURS, "SET held_until = :until", values), "holder") == grant.holder

    def hand_over(self, grant: Grant, hop: int, seconds: float) -> bool:
        """To the invocation of that number, which has so long to take it on. False: it is another's, or gone."""
        values = {":holder": {"S": grant.holder}, ":until": _until(seconds), ":hop": {"N": str(hop)}}
        found = self._update(grant.pk, OURS, "SET held_until = :until, hop = :hop", values)
        return _text(found, "holder") == grant.holder

    def take_on(self, pk: str, holder: str, hop: int, seconds: float) -> Grant | None:
        """The lease that was handed over to this invocation. None: it has been taken on, or is over: others were told so."""
        values = {":holder": {"S": holder}, ":hop": {"N": str(hop)}, ":until": _until(seconds), ":now": _until(0)}
        request: dict[str, Any] = {
            "UpdateExpression": "SET held_until = :until REMOVE hop",
            "ConditionExpression": f"{OURS} AND hop = :hop AND held_until > :now",
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
        }
        try:
            found = self.reader.table.update(pk, keys.LEASE, **request)
        except ClientError as error:
            if not refused(error):
                raise
            return None
        dead = frozenset(found.get("dead", {}).get("SS", ()))
        return Grant(pk, holder, _text(found, "held_for"), _number(found, "fence"), _number(found, "epoch"), dead, _text(found, "code"))

    def belongs(self, grant: Grant, code: str) -> None:
        """The thread belongs to this version of the code."""
        self._update(grant.pk, OURS, "SET code = :code", {":holder": {"S": grant.holder}, ":code": {"S": code}})

    def give_back(self, grant: Grant, *, clean: bool = True) -> None:
        """Not clean: something of this run may still be written, so who comes next takes it over."""
        ours: Item = {":holder": {"S": grant.holder}}
        if clean:
            self._update(grant.pk, OURS, "REMOVE holder, held_until", ours)
        else:
            self._update(grant.pk, OURS, "SET held_until = :zero", {**ours, ":zero": {"N": "0"}})


def _until(seconds: float) -> Item:
    return {"N": str(int((now() + seconds) * 1_000))}


def _text(item: Item, name: str) -> str:
    text: str = item.get(name, {}).get("S", "")
    return text


def _number(item: Item, name: str) -> int:
    return int(item.get(name, {}).get("N", "0"))
