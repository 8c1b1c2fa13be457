"""Prices as data."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from infra.costs.prices import Name, Price, UnknownRegion, prices_of, regions

QUANTITIES = st.floats(min_value=1e-6, max_value=1e12)
SOME = {"unit": "thing", "date": "2026-09", "basis": "price list", "source": "https://aws.amazon.com"}


@pytest.mark.parametrize("region", regions())
def test_every_price_has_its_date_and_source(region: str) -> None:
    """In each region the same names, in the same order; what rests on no document says so."""
    prices = prices_of(region)
    assert list(prices.by_name) == list(get_args(Name))
    for price in prices.by_name.values():
        assert price.source.startswith("https://")
        assert price.basis in ("price list", "quoted", "a bill of that month", "as known")
        assert price.of(1) > 0


@pytest.mark.parametrize(
    ("name", "quantity", "usd"),
    [
        ("lambda_request", 1_000_000, 0.20),
        ("lambda_gb_second", 30_000, 0.400002),
        ("lambda_gb_second", 7_500_000_000, 100_000.5),
        ("lambda_gb_second", 10_000_000_000, 130_000.75),  # 2.5 thousand million of them for 0.0000120001
        ("lambda_gb_second", 20_000_000_000, 248_335.0),
        ("dynamodb_write_unit", 1_000_000, 0.625),
        ("dynamodb_read_unit", 1_000_000, 0.125),
        ("s3_put", 1_000, 0.005),
        ("s3_get", 1_000, 0.0004),
        ("egress_gb", 10_240, 921.6),
        ("egress_gb", 20_480, 1_792.0),  # 921.60 and 10,240 × 0.085
        ("logs_gb", 20_480, 7_680.0),  # 5,120 and 10,240 × 0.25
    ],
)
def test_dollars(name: Name, quantity: float, usd: float) -> None:
    """us-east-1, also where a second tier begins."""
    assert prices_of("us-east-1").of(name, quantity) == pytest.approx(usd, rel=1e-9)


@given(QUANTITIES, QUANTITIES)
def test_more_costs_more_and_never_more_a_unit(one: float, other: float) -> None:
    """For all prices: tiers fall."""
    for price in prices_of("us-east-1").by_name.values():
        together = price.of(one + other)
        assert together >= price.of(one)
        assert together <= (price.of(one) + price.of(other)) * (1 + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"usd": -1},
        {"usd": 1, "tiers": [[None, 1]]},
        {"tiers": [[10, 1]]},
        {"tiers": [[10, 1], [5, 1], [None, 1]]},
        {"tiers": [[10, 1], [None, -1]]},
        {"usd": 1, "date": "September"},
        {"usd": 1, "euro": 2},
    ],
)
def test_what_is_no_price(wrong: dict[str, object]) -> None:
    """Neither or both of the two forms, tiers that do not rise or end, a negative amount, no date."""
    with pytest.raises(ValidationError):
        Price.model_validate(SOME | wrong)


def test_a_region_without_prices_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(UnknownRegion, match="us-east-1, eu-central-1"):
        prices_of("mars-1")


def test_own_prices() -> None:
    """A number, or a whole entry; the rest stays, and what is the user's says so."""
    prices = prices_of("us-east-1").replaced({"s3_put": 0.001, "egress_gb": {"tiers": [[100, 0], [None, 0.05]]}})
    assert (prices.of("s3_put", 10), prices.of("egress_gb", 101), prices.of("s3_get", 1)) == pytest.approx((0.01, 0.05, 4e-7))
    assert prices.by_name["s3_put"].basis == prices.by_name["egress_gb"].basis == "given by the user"


@pytest.mark.parametrize("wrong", [{"s3": 1}, {"s3_put": -1}, {"s3_put": "cheap"}, {"s3_put": {"usd": 1, "tiers": [[None, 1]]}}])
def test_own_prices_that_are_none(wrong: dict[str, object]) -> None:
    """An unknown name, a negative amount, a word."""
    with pytest.raises(ValueError, match="s3"):
        prices_of("us-east-1").replaced(wrong)
