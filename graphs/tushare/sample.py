"""Sample data in Tushare's shape, for use without a token: prices by formula, and every result says so.

The stocks exist, with their real codes, names and industries; nothing else is real. The same day always has the same price, so a thread
reads the same tomorrow. Trading days are weekdays (no holidays), up to today.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import blake2s
from itertools import groupby
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from graphs.tushare.clock import Clock, today_in_china
from graphs.tushare.rows import Row

NOTE = "示例数据：价格和成交量由公式生成，不是真实行情（sample data, not real quotes）"
EPOCH = date(2020, 1, 1)
"""The first day there is data for."""
DEFAULT_DAYS = 30
MAX_ROWS = 400


@dataclass(frozen=True, slots=True)
class Stock:
    """`base` is the middle of its made-up price, in yuan; `shares` in units of 10,000."""

    ts_code: str
    name: str
    area: str
    industry: str
    list_date: str
    base: float
    shares: float


STOCKS = (
    Stock("000001.SZ", "平安银行", "深圳", "银行", "19910403", 20.0, 200_000),
    Stock("601318.SH", "中国平安", "深圳", "保险", "20070301", 60.0, 180_000),
    Stock("600036.SH", "招商银行", "深圳", "银行", "20020409", 50.0, 250_000),
    Stock("601398.SH", "工商银行", "北京", "银行", "20061027", 10.0, 350_000),
    Stock("600519.SH", "贵州茅台", "贵州", "白酒", "20010827", 1000.0, 12_000),
    Stock("300750.SZ", "宁德时代", "福建", "电气设备", "20180611", 300.0, 44_000),
)


class SampleMarket:
    """Four of Tushare's interfaces, answered by formula. Each returns JSON `{sample: true, note, data: [rows, newest first]}`."""

    def __init__(self, today: Clock = today_in_china) -> None:
        self._today = today

    @property
    def functions(self) -> Sequence[Callable[..., Coroutine[Any, Any, str]]]:
        """One function a tool, with its name, docstring and arguments."""
        return (self.stock_basic, self.daily, self.daily_basic, self.monthly)

    async def tools(self) -> Sequence[BaseTool]:
        """The functions as LangChain tools: a `ToolLoader`."""
        return [StructuredTool.from_function(coroutine=function) for function in self.functions]

    async def stock_basic(self, ts_code: str = "", name: str = "", industry: str = "") -> str:
        """Listed stocks, by code, by a part of the name, or by industry (sample data)."""
        found = [s for s in STOCKS if ts_code in ("", s.ts_code) and name in s.name and industry in s.industry]
        return _answer([{key: getattr(s, key) for key in ("ts_code", "name", "area", "industry", "list_date")} for s in found])

    async def daily(self, ts_code: str, start_date: str = "", end_date: str = "") -> str:
        """Daily quotes of a stock between two days (YYYYMMDD): open, high, low, close, pct_chg, vol in lots (sample data)."""
        stock = _stock(ts_code)
        return _answer([_quote(stock, day) for day in self._days(start_date, end_date)] if stock else [])

    async def daily_basic(self, ts_code: str, start_date: str = "", end_date: str = "") -> str:
        """Daily figures of a stock between two days (YYYYMMDD): turnover_rate, volume_ratio, pe_ttm, pb, total_mv (sample data)."""
        stock = _stock(ts_code)
        return _answer([_figures(stock, day) for day in self._days(start_date, end_date)] if stock else [])

    async def monthly(self, ts_code: str, start_date: str = "", end_date: str = "") -> str:
        """Monthly quotes of a stock between two days (YYYYMMDD), the running month included (sample data)."""
        stock = _stock(ts_code)
        days = self._days(start_date, end_date, default=DEFAULT_DAYS * 12, most=MAX_ROWS * 10)
        months = [list(of_month) for _, of_month in groupby(days, key=lambda day: (day.year, day.month))]
        return _answer([_month(stock, month) for month in months][:MAX_ROWS] if stock else [])

    def _days(self, start: str, end: str, *, default: int = DEFAULT_DAYS, most: int = MAX_ROWS) -> list[date]:
        """Trading days, newest first. Raises `ValueError` for what is no date."""
        last = min(_day(end) or self._today(), self._today())
        first = max(_day(start) or last - timedelta(days=default), EPOCH)
        days = (last - timedelta(days=back) for back in range((last - first).days + 1))
        return [day for day in days if day.weekday() < 5][:most]


def _answer(data: list[Row]) -> str:
    return json.dumps({"sample": True, "note": NOTE, "data": data}, ensure_ascii=False, separators=(",", ":"))


def _stock(ts_code: str) -> Stock | None:
    return next((stock for stock in STOCKS if stock.ts_code == ts_code.strip().upper()), None)


def _day(text: str) -> date | None:
    digits = text.replace("-", "").strip()
    return date(int(digits[:4]), int(digits[4:6]), int(digits[6:8])) if digits else None


def _before(day: date) -> date:
    """The trading day before."""
    return day - timedelta(days={0: 3, 6: 2}.get(day.weekday(), 1))


def _chance(stock: Stock, day: date, what: str) -> float:
    """Between -1 and 1, the same for the same words."""
    digest = blake2s(f"{stock.ts_code}:{day:%Y%m%d}:{what}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 0x7FFFFFFF - 1


def _close(stock: Stock, day: date) -> float:
    n = (day - EPOCH).days
    phase = int(stock.ts_code[:6]) % 97
    wave = 0.16 * math.sin((n + 11 * phase) / 58) + 0.06 * math.sin((n + 5 * phase) / 11)
    return round(stock.base * (1 + wave + 0.008 * _chance(stock, day, "close")), 2)


def _volume(stock: Stock, day: date) -> float:
    return round(stock.shares * 0.6 * (1 + 0.35 * math.sin((day - EPOCH).days / 7) + 0.4 * _chance(stock, day, "vol")), 2)


def _quote(stock: Stock, day: date) -> Row:
    close, before, vol = _close(stock, day), _close(stock, _before(day)), _volume(stock, day)
    start = round(before * (1 + 0.004 * _chance(stock, day, "open")), 2)
    high = round(max(start, close) * (1 + 0.006 * (1 + _chance(stock, day, "high"))), 2)
    low = round(min(start, close) * (1 - 0.006 * (1 + _chance(stock, day, "low"))), 2)
    moved = {"pre_close": before, "change": round(close - before, 2), "pct_chg": round((close / before - 1) * 100, 4)}
    prices = {"open": start, "high": high, "low": low, "close": close}
    return {
        "ts_code": stock.ts_code,
        "trade_date": f"{day:%Y%m%d}",
        **prices,
        **moved,
        "vol": vol,
        "amount": round(vol * (high + low) / 20, 3),
    }


def _figures(stock: Stock, day: date) -> Row:
    close, vol = _close(stock, day), _volume(stock, day)
    usual = sum(_volume(stock, before) for before in _five_before(day)) / 5
    return {
        "ts_code": stock.ts_code,
        "trade_date": f"{day:%Y%m%d}",
        "close": close,
        "turnover_rate": round(vol / stock.shares, 4),
        "volume_ratio": round(vol / usual, 2),
        "pe_ttm": round(close / (stock.base / 15), 4),
        "pb": round(close / (stock.base / 2), 4),
        "total_share": stock.shares,
        "total_mv": round(close * stock.shares, 4),
    }


def _five_before(day: date) -> Iterator[date]:
    for _ in range(5):
        day = _before(day)
        yield day


def _month(stock: Stock, days: Sequence[date]) -> Row:
    quotes = [_quote(stock, day) for day in days]
    last, first = quotes[0], quotes[-1]
    before = first["pre_close"]
    return {
        "ts_code": stock.ts_code,
        "trade_date": last["trade_date"],
        "open": first["open"],
        "high": max(quote["high"] for quote in quotes),
        "low": min(quote["low"] for quote in quotes),
        "close": last["close"],
        "pre_close": before,
        "change": round(last["close"] - before, 2),
        "pct_chg": round((last["close"] / before - 1) * 100, 4),
        "vol": round(sum(quote["vol"] for quote in quotes), 2),
        "amount": round(sum(quote["amount"] for quote in quotes), 3),
    }
