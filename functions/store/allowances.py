"""What a caller may run: so many runs at once and in a minute, so many tokens in a day. One item per caller, over all agents of the tables.

    a!   minute (since 1970), begun (runs of that minute); day (since 1970, UTC), tokens (of that day);
         runs (lease's partition → its fence: those let in, of which some may have ended); version

A run that has ended, or died, is not taken out: whether one still runs is known by its lease, which is looked at when the caller has used
up the number. So nothing has to be given back, and nobody is locked out by a process that was killed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from functions.store import keys
from functions.store.clients import Calls
from functions.store.errors import Throttled, refused
from functions.store.expiry import now
from functions.store.table import Item, Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_KEY = "a!"
MINUTE, DAY = 60, 86_400
"""Seconds. Both begin at a full one, UTC."""
AGAIN_SECONDS = 5
"""When to ask again for a run at once: nobody knows when one of them ends."""
ATTEMPTS = 20
KEPT = 2 * DAY
"""Seconds that an item outlives its last change."""

Lives = Callable[[str, int], bool]
"""Whether the run with that fence still has the thread of that partition."""


@dataclass(frozen=True, slots=True)
class Limits:
    """For each caller; 0: none."""

    runs_at_once: int = 0
    runs_a_minute: int = 0
    tokens_a_day: int = 0

    def __bool__(self) -> bool:
        return bool(self.runs_at_once or self.runs_a_minute or self.tokens_a_day)


class LimitReached(Exception):
    """`limit`: the field of `Limits`; `most`: its value; `retry_after`: seconds, at least one."""

    def __init__(self, limit: str, most: int, retry_after: int) -> None:
        super().__init__(f"{limit} is {most}")
        self.limit, self.most, self.retry_after = limit, most, retry_after


@dataclass(frozen=True, slots=True)
class Allowances:
    """Of all callers. Raises `StoreError` with a remedy, else what botocore raises."""

    table: Table
    limits: Limits

    def check(self, principal: str) -> Item:
        """What the caller has used so far, for `admit`. Raises `LimitReached` for what time alone mends."""
        item = self.table.get(_owner(principal), _KEY) or {}
        self._check(item)
        return item

    def _check(self, item: Item) -> None:
        moment, limits = now(), self.limits
        if limits.tokens_a_day and _of_the(item, "day", "tokens", moment, DAY) >= limits.tokens_a_day:
            raise LimitReached("tokens_a_day", limits.tokens_a_day, _left(moment, DAY))
        if limits.runs_a_minute and _of_the(item, "minute", "begun", moment, MINUTE) >= limits.runs_a_minute:
            raise LimitReached("runs_a_minute", limits.runs_a_minute, _left(moment, MINUTE))

    def admit(self, principal: str, seen: Item, pk: str, fence: int, lives: Lives) -> None:
        """Counts a run that has its thread. `seen`: what `check` returned. Raises `LimitReached`, having counted nothing."""
        for _ in range(ATTEMPTS):
            self._check(seen)
            runs = {at: int(value["N"]) for at, value in seen.get("runs", {"M": {}})["M"].items()}
            if self.limits.runs_at_once and len(runs) >= self.limits.runs_at_once:
                runs = {at: its for at, its in runs.items() if at != pk and lives(at, its)}
                if len(runs) >= self.limits.runs_at_once:
                    raise LimitReached("runs_at_once", self.limits.runs_at_once, AGAIN_SECONDS)
            if self._counted(principal, seen, runs | {pk: fence} if self.limits.runs_at_once else {}):
                return
            seen = self.check(principal)
        raise Throttled("Too many runs of one caller begin at once to be counted. Try again.")

    def _counted(self, principal: str, seen: Item, runs: dict[str, int]) -> bool:
        """False: another run of the caller was counted since `seen`."""
        moment = now()
        version = int(seen.get("version", {"N": "0"})["N"])
        values: Item = {
            ":minute": {"N": str(int(moment // MINUTE))},
            ":begun": {"N": str(_of_the(seen, "minute", "begun", moment, MINUTE) + 1)},
            ":runs": {"M": {at: {"N": str(fence)} for at, fence in runs.items()}},
            ":next": {"N": str(version + 1)},
            ":expiry": {"N": str(int(moment) + KEPT)},
        }
        known = {":version": {"N": str(version)}} if version else {}
        try:
            self.table.update(
                _owner(principal),
                _KEY,
                UpdateExpression="SET #minute = :minute, begun = :begun, runs = :runs, version = :next, expires_at = :expiry",
                ConditionExpression="version = :version" if version else "attribute_not_exists(version)",
                ExpressionAttributeNames={"#minute": "minute"},
                ExpressionAttributeValues=values | known,
            )
        except ClientError as error:
            if not refused(error):
                raise
            return False
        return True

    def spend(self, principal: str, tokens: int) -> None:
        """Counts what a run has used. Only where the day's tokens are limited."""
        if not self.limits.tokens_a_day or tokens <= 0:
            return
        moment = now()
        values: Item = {
            ":day": {"N": str(int(moment // DAY))},
            ":tokens": {"N": str(tokens)},
            ":expiry": {"N": str(int(moment) + KEPT)},
        }
        # of today first: the other one holds once a day
        ways = (("SET tokens = tokens + :tokens, expires_at = :expiry", "#day = :day"),
                ("SET #day = :day, tokens = :tokens, expires_at = :expiry", "attribute_not_exists(#day) OR #day < :day"))  # fmt: skip
        for change, condition in (*ways, ways[0]):
            try:
                self.table.update(
                    _owner(principal),
                    _KEY,
                    UpdateExpression=change,
                    ConditionExpression=condition,
                    ExpressionAttributeNames={"#day": "day"},
                    ExpressionAttributeValues=values,
                )
            except ClientError as error:
                if not refused(error):
                    raise
            else:
                return


def allowances(table_name: str, limits: Limits, *, client: DynamoDBClient) -> Allowances:
    """In the table of conversations, whose index has none of them: they have no rank."""
    return Allowances(Table(table_name, client, Calls()), limits)


def _owner(principal: str) -> str:
    return keys.principal_prefix(principal)


def _of_the(item: Item, period: str, count: str, moment: float, seconds: int) -> int:
    """What was counted in the period that `moment` lies in."""
    return int(item[count]["N"]) if period in item and int(item[period]["N"]) == int(moment // seconds) else 0


def _left(moment: float, seconds: int) -> int:
    return ceil(seconds - moment % seconds)
