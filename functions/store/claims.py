"""What a thread has been told once: the answer to each of its questions, and the run that a request has started.

    a!<interrupt>         digest, question, held_for (the run's id), answer (a cell)
    k!<idempotency key>   held_for, fence, expires_at

An answer is claimed before the graph hears it. A run that dies in between leaves the claim, and the next run goes on with that answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from functions.store import keys
from functions.store.errors import refused
from functions.store.expiry import alive, expiring, now
from functions.store.payloads import pack
from functions.store.reading import Reader
from functions.store.table import Item

FIRST_ANSWER = "attribute_not_exists(pk) OR digest = :digest OR question <> :question"
REQUESTS_KEPT = 86_400
"""Seconds that a repeated `Idempotency-Key` is known."""


class Claim(NamedTuple):
    """An answer: `digest` tells it from others, `value` is what the node hears, `question` is the digest of what was asked: a graph that
    was changed may ask something else under the same id."""

    digest: str
    value: Any
    question: str = ""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one saver's threads."""

    reader: Reader
    ttl_seconds: int | None

    def answers(self, pk: str, interrupt_ids: Iterable[str]) -> dict[str, Claim]:
        """By interrupt, those that were claimed."""
        wanted = list(interrupt_ids)
        items = self.reader.table.calls.each(lambda interrupt_id: self.reader.table.get(pk, keys.answer_key(interrupt_id)), wanted)
        return {
            interrupt_id: self._claim(pk, interrupt_id, item)
            for interrupt_id, item in zip(wanted, items, strict=True)
            if item and alive([item])
        }

    def _claim(self, pk: str, interrupt_id: str, item: Item) -> Claim:
        at = keys.Address(pk, "", "", interrupt_id)
        value = self.reader.payloads.open(self.reader.serde, at, interrupt_id, item["answer"])
        return Claim(item["digest"]["S"], value, item.get("question", {}).get("S", ""))

    def claim(self, pk: str, run_id: str, answers: dict[str, Claim]) -> list[str]:
        """Claims each of them, unless the same question has another answer → the interrupts that have."""
        taken = self.reader.table.calls.each(lambda entry: self._put_answer(pk, run_id, *entry), list(answers.items()))
        return [interrupt_id for interrupt_id, done in zip(answers, taken, strict=True) if not done]

    def _put_answer(self, pk: str, run_id: str, interrupt_id: str, claim: Claim) -> bool:
        at = keys.Address(pk, "", "", interrupt_id)
        expiry = expiring(pk, self.ttl_seconds)
        cells = self.reader.payloads.cells(at, interrupt_id, {"answer": pack(self.reader.serde, claim.value)}, expiry)
        told = {"digest": {"S": claim.digest}, "question": {"S": claim.question}}
        item = _item(pk, keys.answer_key(interrupt_id), run_id) | told | cells | expiry
        return self._put(item, FIRST_ANSWER, {f":{name}": value for name, value in told.items()})

    def forget(self, pk: str, interrupt_ids: Iterable[str]) -> None:
        """These questions were never answered."""
        self.reader.table.calls.each(lambda interrupt_id: self.reader.table.delete(pk, keys.answer_key(interrupt_id)), list(interrupt_ids))

    def run_of_request(self, pk: str, key: str) -> tuple[str, int] | None:
        """The run that this key has started, and the fence of its lease."""
        item = self.reader.table.get(pk, keys.request_key(key))
        return (item["held_for"]["S"], int(item.get("fence", {"N": "0"})["N"])) if item and alive([item]) else None

    def request(self, pk: str, run_id: str, key: str, fence: int) -> None:
        """From now on the key belongs to the run. Call it under the thread's lease."""
        told = {"fence": {"N": str(fence)}, "expires_at": {"N": str(int(now()) + REQUESTS_KEPT)}}
        self.reader.table.put(_item(pk, keys.request_key(key), run_id) | told)

    def _put(self, item: Item, condition: str, values: Item) -> bool:
        try:
            self.reader.table.put(item, ConditionExpression=condition, ExpressionAttributeValues=values)
        except ClientError as error:
            if not refused(error):
                raise
            return False
        return True


def _item(pk: str, sort_key: str, run_id: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sort_key}, "held_for": {"S": run_id}}
