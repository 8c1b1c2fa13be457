"""All behaviours by name, and what becomes of one against a store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import pytest

from tests.functions.store.behaviour import (
    deltas,
    durability,
    expiring,
    faults,
    ids,
    kept,
    listing,
    looping,
    running,
    serializers,
    sizes,
    upkeep,
    writes,
)
from tests.functions.store.behaviour.stores import NotOffered, Store

Behaviour = Callable[[Store], Any]

MODULES = (listing, writes, kept, ids, sizes, running, durability, looping, deltas, serializers, upkeep, expiring, faults)

OK, FAILS, NOT_OFFERED = "ok", "fails", "not offered"


def _of(module: ModuleType) -> dict[str, Behaviour]:
    """Its public functions with the one parameter `store`, in the order they stand there."""
    found = {name: value for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__}
    return {
        name: value for name, value in found.items() if not name.startswith("_") and list(inspect.signature(value).parameters) == ["store"]
    }


BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType({name: found for module in MODULES for name, found in _of(module).items()})


def subject(name: str) -> str:
    """What a behaviour is about: the name of its module."""
    return BEHAVIOURS[name].__module__.rpartition(".")[2]


def outcome(name: str, store: Store) -> tuple[str, BaseException | None]:
    """One of OK, FAILS and NOT_OFFERED, with the error behind it."""
    behaviour = BEHAVIOURS[name]
    try:
        asyncio.run(behaviour(store)) if inspect.iscoroutinefunction(behaviour) else behaviour(store)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  (whatever a saver does wrong is its result)
        offered = not isinstance(error, NotOffered) and not store.refuses(name, error)
        return (FAILS if offered else NOT_OFFERED), error
    return OK, None
