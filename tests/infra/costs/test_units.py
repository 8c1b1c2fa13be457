"""How AWS counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.costs.units import billed_seconds, gb_seconds, index_units, read_units, write_units

SIZES = st.integers(min_value=0, max_value=409_600)


@pytest.mark.parametrize(
    ("size", "plain", "transaction"),
    [(0, 1, 2), (1, 1, 2), (1_024, 1, 2), (1_025, 2, 4), (3_072, 3, 6), (3_584, 4, 8), (409_600, 400, 800)],
)
def test_a_write_unit_is_a_kilobyte(size: int, plain: int, transaction: int) -> None:
    """Begun ones count; a transaction takes twice as many. AWS's own example: 3.5 KB are four."""
    assert (write_units(size), write_units(size, transaction=True)) == (plain, transaction)


@pytest.mark.parametrize(
    ("size", "consistent", "eventual", "transaction"),
    [(0, 1, 0.5, 2), (4_096, 1, 0.5, 2), (4_097, 2, 1, 4), (8_192, 2, 1, 4), (10_000, 3, 1.5, 6)],
)
def test_a_read_unit_is_four(size: int, consistent: float, eventual: float, transaction: float) -> None:
    """Half of it for a read that may lag, twice in a transaction. AWS's own example: 8 KB are two, one and four."""
    found = read_units(size), read_units(size, consistent=False), read_units(size, transaction=True)
    assert found == (consistent, eventual, transaction)


@pytest.mark.parametrize(("size", "new", "moved"), [(500, 1, 2), (1_024, 1, 2), (1_500, 2, 4)])
def test_an_index_is_written_too(size: int, new: int, moved: int) -> None:
    """Once where the item is new, twice where it changes its place: away and there."""
    assert (index_units(size, moved=False), index_units(size, moved=True)) == (new, moved)


@pytest.mark.parametrize(("seconds", "billed"), [(0.0, 0.0), (0.0001, 0.001), (0.001, 0.001), (0.003, 0.003), (1.2341, 1.235), (30, 30)])
def test_lambda_bills_begun_milliseconds(seconds: float, billed: float) -> None:
    """And no more for what a float makes of a whole one."""
    assert billed_seconds(seconds) == pytest.approx(billed, abs=1e-12)


@pytest.mark.parametrize(("memory", "of_ten"), [(128, 1.25), (512, 5.0), (1_024, 10.0), (1_769, 17.275390625), (10_240, 100.0)])
def test_gb_seconds(memory: int, of_ten: float) -> None:
    """A GB is 1,024 MB, and any MB between 128 and 10,240 can be had: there are no steps of 128."""
    assert gb_seconds(10, memory) == pytest.approx(of_ten)


@pytest.mark.parametrize("memory", [0, -1, 127, 10_241])
def test_a_memory_that_no_function_has(memory: int) -> None:
    """Is refused, with what there is."""
    with pytest.raises(ValueError, match="128 to 10,240 MB"):
        gb_seconds(1, memory)


@given(SIZES, SIZES)
def test_two_items_are_never_cheaper_than_one_of_both(one: int, other: int) -> None:
    """Rounding is for each: this is why a task's writes share an item."""
    assert write_units(one) + write_units(other) >= write_units(one + other)
    assert read_units(one) + read_units(other) >= read_units(one + other)
    assert write_units(one + other) >= write_units(one)
