"""The offline model's report: fixed sections, and no figure that is not computed from the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from langchain_core.messages import ToolMessage

from graphs.tushare.rows import Row, rows_of

NONE = "无数据"
STEADY = 5.0
"""Percent of change in volume below which it counts as steady."""


def report(results: Sequence[ToolMessage]) -> str:
    """Markdown in the sections of the prompt, from the results of resolve_stock, daily, daily_basic and monthly."""
    rows = {name: _rows(results, name) for name in ("daily", "daily_basic", "monthly")}
    sections = {
        "股票": _stock(results),
        "区间走势": _range(rows["daily"]),
        "月线": _months(rows["monthly"]),
        "三日量价": _three_days(rows["daily"]),
        "估值与换手": _valuation(rows["daily_basic"]),
        "数据说明": _source(results, rows["daily"]),
    }
    return "\n\n".join(f"## {title}\n{text}" for title, text in sections.items())


def _rows(results: Sequence[ToolMessage], name: str) -> list[Row]:
    """Rows of a tool, oldest first; only those with a day and a close."""
    rows = [row for result in results if result.name == name and result.status != "error" for row in rows_of(result.text)]
    return sorted((row for row in rows if row.get("trade_date") and row.get("close")), key=lambda row: str(row["trade_date"]))


def _stock(results: Sequence[ToolMessage]) -> str:
    found = next((rows_of(result.text) for result in results if result.name == "resolve_stock"), [])
    if not found:
        return NONE
    name, code = found[0].get("name"), found[0].get("ts_code")
    return f"{name}（{code}）" if name and name != code else str(code)


def _range(days: Sequence[Row]) -> str:
    if not days:
        return NONE
    first, last = days[0], days[-1]
    top, bottom = max(days, key=lambda row: row["high"]), min(days, key=lambda row: row["low"])
    lines = [
        f"- {_date(first)} 至 {_date(last)}，{len(days)} 个交易日，收盘 {first['close']} → {last['close']}，"
        f"{_percent(last['close'], first['close'])}",
        f"- 最高 {top['high']}（{_date(top)}），最低 {bottom['low']}（{_date(bottom)}）",
    ]
    return "\n".join(lines)


def _months(months: Sequence[Row]) -> str:
    if not months:
        return NONE
    first, last = months[0], months[-1]
    low, high = min(row["low"] for row in months), max(row["high"] for row in months)
    place = (last["close"] - low) / (high - low) * 100 if high > low else 0
    lines = [f"- {len(months)} 个月收盘 {first['close']} → {last['close']}，{_percent(last['close'], first['close'])}"]
    lines.append(f"- 最近收盘位于区间 {low}～{high} 的 {place:.0f}% 处")
    if len(months) > 1:
        lines.append(f"- 本月成交量较上月 {_percent(last['vol'], months[-2]['vol'])}（本月可能未完）")
    return "\n".join(lines)


def _three_days(days: Sequence[Row]) -> str:
    if len(days) < 2:
        return NONE
    pairs = list(pairwise(days))[-3:]
    head = "| 日期 | 收盘 | 涨跌幅 | 成交量（手） | 量价 | 收盘位置 |\n|---|---|---|---|---|---|"
    return "\n".join([head, *(_day(before, day) for before, day in pairs)])


def _day(before: Row, day: Row) -> str:
    place = (day["close"] - day["low"]) / (day["high"] - day["low"]) * 100 if day["high"] > day["low"] else 50
    moved = _percent(day["close"], before["close"])
    return f"| {_date(day)} | {day['close']} | {moved} | {day['vol']:,.0f} | {_relation(before, day)} | 日内 {place:.0f}% |"


def _relation(before: Row, day: Row) -> str:
    volume = (day["vol"] / before["vol"] - 1) * 100 if before["vol"] else 0
    weight = "量平" if abs(volume) < STEADY else "放量" if volume > 0 else "缩量"
    return weight + ("上涨" if day["close"] > before["close"] else "下跌" if day["close"] < before["close"] else "平收")


def _valuation(figures: Sequence[Row]) -> str:
    if not figures:
        return NONE
    last = figures[-1]
    named = {"市盈率 TTM": "pe_ttm", "市净率": "pb", "换手率（%）": "turnover_rate", "量比": "volume_ratio"}
    return f"- {_date(last)}：" + "，".join(f"{title} {last[key]}" for title, key in named.items() if last.get(key) is not None)


def _source(results: Sequence[ToolMessage], days: Sequence[Row]) -> str:
    lines = [f"- 数据截止 {_date(days[-1])}。"] if days else ["- 没有取到日线数据。"]
    lines += [f"- {result.name} 取数失败：{result.text}" for result in results if result.status == "error"]
    lines += [f"- {note}" for note in dict.fromkeys(filter(None, map(_note, results)))]
    return "\n".join([*lines, "- 以上仅为数据整理，不构成投资建议。"])


def _note(result: ToolMessage) -> str | None:
    try:
        said = json.loads(result.text)
    except ValueError:
        return None
    return str(said["note"]) if isinstance(said, dict) and said.get("sample") and said.get("note") else None


def _date(row: Row) -> str:
    day = str(row["trade_date"])
    return f"{day[:4]}-{day[4:6]}-{day[6:8]}" if len(day) == 8 else day


def _percent(now: float, before: float) -> str:
    return f"{(now / before - 1) * 100:+.2f}%" if before else NONE
