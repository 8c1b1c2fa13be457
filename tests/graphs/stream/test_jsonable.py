"""One rule for any value: it becomes JSON, whatever it is."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, ConfigDict, Field, computed_field

from graphs.stream import jsonable


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, populate_by_name=True)
    own_name: Any = Field(default=None, alias="ownName")


class Raising(BaseModel):
    @computed_field  # type: ignore[prop-decorator]
    @property
    def broken(self) -> int:
        raise RuntimeError("no")


@dataclasses.dataclass
class Data:
    a: Any = 1


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


class Text(str):
    __slots__ = ()


ROWS: list[tuple[str, Any, Any]] = [
    ("json stays", {"a": [1, 1.5, "é", True, None]}, {"a": [1, 1.5, "é", True, None]}),
    ("NaN and infinities", [float("nan"), float("inf"), float("-inf")], [None, None, None]),
    ("tuples and sets", [(1, 2), {2, 1}, frozenset({"a"})], [[1, 2], [1, 2], ["a"]]),
    ("bytes", [b"\x00\xff", bytearray(b"a"), memoryview(b"a")], ["AP8=", "YQ==", "YQ=="]),
    ("dates", [datetime(2026, 1, 2, tzinfo=UTC), date(2026, 1, 2), time(3, 4)], ["2026-01-02T00:00:00+00:00", "2026-01-02", "03:04:00"]),
    ("numbers and ids as text", [Decimal("1.10"), UUID(int=1)], ["1.10", "00000000-0000-0000-0000-000000000001"]),
    ("enums", [Colour.RED, Level.LOW], ["red", 1]),
    ("a subclass of str", Text("a"), "a"),
    ("keys are text", {1: 1, None: 2, ("a", 1): 3, Colour.RED: 4}, {"1": 1, "None": 2, "('a', 1)": 3, "Colour.RED": 4}),
    ("a key that has no text", {Broken(): 1}, {"<Broken>": 1}),
    ("lone surrogates", ["\ud800", {"\udfff": 1}, "a\ud83d\ude00"], ["\ufffd", {"\ufffd": 1}, "a\N{GRINNING FACE}"]),
    ("a model, by alias", Model(ownName={1, 2}), {"ownName": [1, 2]}),
    ("a model with a field that pydantic cannot serialise", Model(ownName=b"\xff"), {"ownName": "/w=="}),
    ("a model that does not hold what it says", Level(1), 1),
    ("a model that raises", Raising(), "<Raising>"),
    ("a dataclass", Data({"x": Data()}), {"a": {"x": {"a": 1}}}),
    ("a class is not its instance", Data, "<class 'tests.graphs.stream.test_jsonable.Data'>"),
    ("anything else is its repr", timedelta(1), "datetime.timedelta(days=1)"),
    ("no repr", [Broken()], ["<Broken>"]),
    ("an integer too wide for text", 10**5000, hex(10**5000)),
]


@pytest.mark.parametrize(("value", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_rule(value: Any, expected: Any) -> None:
    """Row by row, and what comes out encodes."""
    assert jsonable(value) == expected
    json.dumps(jsonable(value), allow_nan=False, ensure_ascii=False).encode()


def test_a_value_inside_itself_ends_there() -> None:
    """However often it holds itself: twice per level must not double the work at each."""
    loop: list[Any] = [1]
    loop += [loop, loop, {"again": loop}]
    data = Data()
    data.a = [data, data]
    assert jsonable(loop) == [1, "<list>", "<list>", {"again": "<list>"}]
    assert jsonable(data) == {"a": ["<Data>", "<Data>"]}
    model = Model()
    model.own_name = [model]
    assert json.dumps(jsonable(model))


def test_the_same_value_twice_is_not_a_loop() -> None:
    """Only what is around a value cuts it."""
    shared = {"a": 1}
    assert jsonable([shared, shared]) == [shared, shared]


def test_depth_is_cut() -> None:
    """A deep value is cut, not an error."""
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    assert "<list>" in json.dumps(jsonable(deep))


def test_a_field_of_another_type_warns_nobody() -> None:
    """Warnings are errors here: pydantic's about unexpected values stay away."""
    message = HumanMessage("x")
    message.__dict__["id"] = 5
    assert jsonable(message)["id"] == 5


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),  # with surrogates
    st.binary(),
    st.datetimes(),
    st.decimals(),
    st.uuids(),
    st.complex_numbers(),
    st.builds(Broken),
    st.builds(lambda: 10**5000),
    st.builds(Raising),
    st.sampled_from([Colour.RED, Level.LOW, Data, object(), ValueError("x"), Text("\ud800")]),
)
KEYS = st.one_of(st.text(st.characters()), st.integers(), st.none(), st.tuples(st.integers()), st.binary())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner),
        st.builds(Data, inner),
        st.builds(Model, ownName=inner),
        st.frozensets(st.one_of(st.integers(), st.text(st.characters()))),
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_anything_encodes(value: Any) -> None:
    """`json.dumps(allow_nan=False)` and UTF-8 take it, and the rule applied again changes nothing."""
    once = jsonable(value)
    json.dumps(once, allow_nan=False, ensure_ascii=False).encode()
    assert jsonable(once) == once
