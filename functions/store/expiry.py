"""When a thread expires: everything in it at the same time, so that nothing that is served needs what is gone.

A checkpoint may need its ancestors (a delta channel is rebuilt from them), so a thread in use moves the expiry of all it holds. To do that
rarely, expiries lie on a grid of half the TTL: a thread is served for at least the TTL after its last use, and at most half of it longer,
and its expiry moves once per half TTL in use. Each thread has its own grid, so that they do not all move, and expire, at one moment.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from typing import Any

Item = dict[str, Any]
"""As in `functions.store.table`."""


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def expiring(pk: str, ttl_seconds: int | None) -> Item:
    """The TTL attribute of everything in a thread that is used now; none without a TTL."""
    return {} if ttl_seconds is None else {"expires_at": {"N": str(_next_on_grid(pk, int(now()) + ttl_seconds, max(ttl_seconds // 2, 1)))}}


def _next_on_grid(pk: str, moment: int, step: int) -> int:
    phase = zlib.crc32(pk.encode()) % step
    return -((phase - moment) // step) * step + phase


def alive(items: Iterable[Item]) -> list[Item]:
    """Without the expired ones: DynamoDB removes those up to days later."""
    moment = now()
    return [item for item in items if "expires_at" not in item or float(item["expires_at"]["N"]) > moment]
