"""How AWS counts what is used.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
https://aws.amazon.com/lambda/pricing/
"""

from __future__ import annotations

import math

WRITE_UNIT, READ_UNIT = 1_024, 4_096
"""Bytes that a unit writes, or reads consistently. An item is at least one."""
TRANSACTION = 2
"""A transaction prepares and commits."""
LEAST_MEMORY, MOST_MEMORY = 128, 10_240
"""MB that a function may have, in steps of 1. (Steps of 64 were before December 2020.)"""
GIB = 1_024**3
"""Bytes of what DynamoDB, S3, CloudWatch and Lambda call a GB."""


def write_units(item: int, *, transaction: bool = False) -> int:
    """Units that writing an item of so many bytes takes: of the larger one where it replaces another; a deletion as much."""
    return max(1, math.ceil(item / WRITE_UNIT)) * (TRANSACTION if transaction else 1)


def index_units(item: int, *, moved: bool) -> int:
    """What the same write takes in a local index: its new place, and the old one's removal where the item has moved."""
    return write_units(item) * (2 if moved else 1)


def read_units(found: int, *, consistent: bool = True, transaction: bool = False) -> float:
    """Units of a read that finds so many bytes: of one item, or of a query's items together. Finding nothing is read too."""
    units = max(1, math.ceil(found / READ_UNIT))
    if transaction:
        return units * TRANSACTION
    return units if consistent else units / 2


def billed_seconds(seconds: float) -> float:
    """A run's duration, rounded up to the millisecond."""
    # a float's last digits are no time: 0.003 s are 3 ms
    return math.ceil(round(seconds * 1_000, 6)) / 1_000


def gb_seconds(seconds: float, memory: int) -> float:
    """Of one invocation of so long with so many MB. Raises `ValueError` for a memory that no function can have."""
    check_memory(memory)
    return billed_seconds(seconds) * memory / 1_024


def check_memory(memory: int) -> None:
    """Raises `ValueError` for a memory that no function can have."""
    if not LEAST_MEMORY <= memory <= MOST_MEMORY:
        raise ValueError(f"a function has {LEAST_MEMORY} to {MOST_MEMORY:,} MB, not {memory:,}")
