"""Values as they come back: of every type that LangGraph's serializer knows, and of the application's own."""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import pathlib
import re
import uuid
import zoneinfo
from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from tests.functions.store.behaviour.putting import latest, pending, put, values, write
from tests.functions.store.behaviour.stores import Store
from tests.support.checkpoints import config


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Order(BaseModel):
    """A model with a nested one of the standard library's."""

    price: Decimal
    colour: Colour = Colour.RED
    tags: list[str] = []


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int


EMPTY: dict[str, Any] = {"none": None, "bytes": b"", "text": "", "list": [], "dict": {}, "set": set(), "zero": 0, "false": False}
STANDARD: dict[str, Any] = {
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "decimal": Decimal("1.10"),
    "uuid": uuid.UUID(int=7),
    "moment": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    "day": date(2026, 1, 2),
    "time": time(3, 4),
    "duration": timedelta(seconds=1.5),
    "zone": zoneinfo.ZoneInfo("Europe/Berlin"),
    "pattern": re.compile("a+", re.IGNORECASE),
    "path": pathlib.Path("/a/b"),
    "address": ipaddress.ip_address("10.0.0.1"),
    "deque": deque([1, 2]),
    "bytes": b"\x00\xff",
    "text": "ünï🙂\x00",
    "float": 0.1,
    "large": 2**63 - 1,
    "nested": {"a": [{"b": {1: [1, 2]}}]},
}
OWN: dict[str, Any] = {"colour": Colour.RED, "level": Level.HIGH, "order": Order(price=Decimal("2.5"), tags=["x"]), "point": Point(1, 2)}


def _both_ways(store: Store, expected: dict[str, Any]) -> None:
    at = put(store.saver(), config("t"), expected)
    write(store.saver(), at, list(expected.items()))
    assert values(store.saver(), at) == expected
    assert {channel: value for _, channel, value in pending(store.saver(), at)} == expected


def empty_values_are_values(store: Store) -> None:
    """None, empty bytes and text, empty collections, zero and False come back as they are, in the state and as writes."""
    _both_ways(store, EMPTY)


def values_of_the_standard_library(store: Store) -> None:
    """Sets, decimals, UUIDs, times, patterns, paths and addresses are what they were."""
    _both_ways(store, STANDARD)


def values_of_own_types(store: Store) -> None:
    """Enums, pydantic models and dataclasses of the application."""
    _both_ways(store, OWN)


def messages_keep_all_they_carry(store: Store) -> None:
    """Ids, tool calls, usage, artifacts and content blocks."""
    call = {"name": "search", "args": {"q": "🙂"}, "id": "c1", "type": "tool_call"}
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    said = [
        HumanMessage([{"type": "text", "text": "hi"}], id="m1", name="me"),
        AIMessage("", id="m2", tool_calls=[call], usage_metadata=usage, response_metadata={"model_name": "x"}),
        ToolMessage("found", tool_call_id="c1", artifact={"rows": [1]}, status="error"),
    ]
    _both_ways(store, {"messages": said})


def metadata_and_versions_come_back(store: Store) -> None:
    """What LangGraph needs to go on: versions, versions seen, parents; and the parent's config."""
    saver = store.saver()
    first = put(saver, config("t"), {"n": 1}, parents={"": "x"})
    second = put(saver, first, {"n": 2}, step=1, source="update", parents={})
    found = latest(store.saver(), "t")
    assert (found.config["configurable"], found.parent_config) == (second["configurable"], first)
    assert {name: found.metadata[name] for name in ("source", "step", "parents")} == {"source": "update", "step": 1, "parents": {}}
    assert found.checkpoint["channel_versions"] == {"n": second["configurable"]["checkpoint_id"]}
    assert latest(store.saver(), first).parent_config is None
