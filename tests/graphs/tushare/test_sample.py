"""The sample data: Tushare's shape, the same every time, and never without saying what it is."""

from __future__ import annotations

import json
from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from graphs.tushare.sample import NOTE, SampleMarket

MONDAY = date(2026, 11, 30)
MARKET = SampleMarket(lambda: MONDAY)


def data(text: str) -> list[dict[str, Any]]:
    said = json.loads(text)
    assert (said["sample"], said["note"]) == (True, NOTE)
    return list(said["data"])


async def test_stocks_by_part_of_a_name() -> None:
    """平安 is two, an empty question all, an unknown one none."""
    assert [row["ts_code"] for row in data(await MARKET.stock_basic(name="平安"))] == ["000001.SZ", "601318.SH"]
    assert len(data(await MARKET.stock_basic())) == 6
    assert data(await MARKET.stock_basic(name="火星")) == []


async def test_days_are_weekdays_up_to_today_newest_first() -> None:
    """Neither a weekend nor tomorrow; both ends included."""
    days = [row["trade_date"] for row in data(await MARKET.daily("000001.SZ", "20261126", "20261215"))]
    assert days == ["20261130", "20261127", "20261126"]


async def test_quotes_fit_together() -> None:
    """The low is lowest, the high highest, each day starts from the close before, and basics and months tell the same closes."""
    days = data(await MARKET.daily("600519.SH", "20251101", "20261130"))
    assert all(row["low"] <= min(row["open"], row["close"]) <= max(row["open"], row["close"]) <= row["high"] for row in days)
    assert all(row["pre_close"] == before["close"] for row, before in pairwise(days))
    assert all(abs(row["pct_chg"]) < 10 for row in days)
    closes = {row["trade_date"]: row["close"] for row in days}
    for other in (await MARKET.daily_basic("600519.SH", "20261101"), await MARKET.monthly("600519.SH", "20260101")):
        assert all(closes[row["trade_date"]] == row["close"] for row in data(other))


async def test_another_day_tells_the_same_past() -> None:
    """What a thread was told stays true."""
    later = SampleMarket(lambda: date(2027, 3, 1))
    assert await later.daily("600036.SH", "20261101", "20261130") == await MARKET.daily("600036.SH", "20261101", "20261130")


async def test_an_unknown_stock_has_no_rows() -> None:
    """In none of the three."""
    for function in (MARKET.daily, MARKET.daily_basic, MARKET.monthly):
        assert data(await function("999999.SZ")) == []


async def test_what_is_no_date_raises() -> None:
    """A tool node tells the model."""
    with pytest.raises(ValueError, match="invalid literal"):
        await MARKET.daily("000001.SZ", "yesterday")
