"""A caller's limits: 429 with `Retry-After` before anything of the run has begun."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from ag_ui.core import TokenUsage
from botocore.exceptions import BotoCoreError, ClientError

from functions.runs.errors import RunRejected
from functions.runs.lease import Lease, TableLease
from functions.store.allowances import Allowances, LimitReached
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import StoreError
from functions.store.holders import holder
from functions.store.meter import uncounted
from functions.store.table import Item

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

_TOLD = {
    "runs_at_once": "As many of your runs are under way as may be at once ({most}). Wait for the end of one, or stop it.",
    "runs_a_minute": "You have begun as many runs in this minute as you may ({most}). Try again in {after} seconds.",
    "tokens_a_day": "The tokens that you may use in a day ({most}) are used up. The next day begins at midnight UTC, in {after} seconds.",
}


class LimitExceeded(RunRejected):
    """A limit of the caller's: `limit` as the settings name it, `retry_after` in seconds."""

    def __init__(self, reached: LimitReached) -> None:
        super().__init__(429, "LIMIT_EXCEEDED", _TOLD[reached.limit].format(most=f"{reached.most:,}", after=reached.retry_after))
        self.limit, self.retry_after = reached.limit, reached.retry_after


class Allowance:
    """What one caller may run, asked for one run (`functions.runs.orchestrator.Admission`)."""

    def __init__(self, allowances: Allowances, principal: str, saver: DynamoDBSaver) -> None:
        self._allowances, self._principal, self._saver = allowances, principal, saver
        self._seen: Item = {}

    async def asked(self) -> None:
        """Before the thread is taken: what time alone mends. Raises `LimitExceeded`."""
        self._seen = await self._limited(self._allowances.check, self._principal)

    async def taken(self, lease: Lease | None) -> None:
        """Counts the run, which has its thread. Raises `LimitExceeded`, having counted nothing."""
        assert isinstance(lease, TableLease)
        await self._limited(self._allowances.admit, self._principal, self._seen, lease.pk, lease.fence, self._lives)

    async def spend(self, usage: Iterable[TokenUsage]) -> None:
        """Counts what the run has used. Its failure is logged: the run itself has ended well."""
        tokens = sum((entry.input_tokens or 0) + (entry.output_tokens or 0) for entry in usage)
        try:
            await self._limited(self._allowances.spend, self._principal, tokens)
        except (BotoCoreError, ClientError, StoreError):
            log.exception("%d tokens of a caller's day were not counted", tokens)

    def _lives(self, pk: str, fence: int) -> bool:
        held = holder(self._saver.leases.reader.table, pk)
        return held is not None and held.live and held.fence == fence

    async def _limited(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with uncounted():
                return await self._saver.in_thread(call, *args, **kwargs)
        except LimitReached as reached:
            raise LimitExceeded(reached) from reached
