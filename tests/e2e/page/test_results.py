"""Tool results that are more than their text: quotes as a chart, with the same in words and as a table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from graphs.tushare.sample import NOTE, SampleMarket
from tests.e2e.page.conftest import Watched
from tests.support.market_server import TODAY
from tests.support.page_events import FINISHED, tool_call, tool_result

pytestmark = pytest.mark.browser

EVIL = '<img src=x onerror="window.bad=1">'
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def quotes() -> str:
    """A month of the sample market."""
    # without an event loop: while Playwright is there its own counts as running, and nothing here waits
    answer = SampleMarket(lambda: TODAY).daily("601318.SH", "20261101")
    try:
        answer.send(None)
    except StopIteration as done:
        return str(done.value)
    raise AssertionError("the sample market waits for nothing")


def show(watched: Watched, tool: str, content: str, *, error: bool = False) -> Page:
    page = watched.open()
    watched.mock.will_stream(*tool_call("c1", tool, {"ts_code": "x"}, parent="a1"), tool_result("c1", content, error=error), FINISHED)
    watched.send("go")
    expect(page.locator(".tool")).to_have_attribute("data-status", "failed" if error else "done")
    return page


def test_quotes_are_drawn(watched: Watched, quotes: str) -> None:
    """An image with title and description, a candle and a bar a day, the mark of sample data; the table and the text on demand."""
    page = show(watched, "daily", quotes)
    days = len(json.loads(quotes)["data"])
    chart = page.get_by_role("img", name="601318.SH price and volume")
    expect(chart).to_be_visible()
    expect(chart).to_have_accessible_description(
        f"{days} quotes from 2026-11-02 to 2026-11-30: close 72.44 to 63.63 (-12.16%), high 73.42, low 63.35."
    )
    assert [chart.locator(kind).count() for kind in (".candle", ".volume")] == [days, days]
    expect(page.locator(".chart-sample")).to_have_attribute("title", NOTE)
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("region", name="Quotes").get_by_role("row")).to_have_count(days + 1)
    expect(page.get_by_role("region", name="Quotes").get_by_role("row").nth(1)).to_contain_text("2026-11-30")
    text = page.get_by_role("region", name="Result", exact=True)
    expect(text).to_be_hidden()
    page.get_by_role("button", name="Show text").click()
    expect(text).to_contain_text('"sample": true')


def test_a_day_is_read_under_the_pointer(watched: Watched, quotes: str) -> None:
    """Its date, close and volume; nothing once the pointer has left."""
    page = show(watched, "daily", quotes)
    page.locator(".candle").last.hover()
    expect(page.locator(".chart-reading")).to_have_text("2026-11-30  close 63.63  volume 113,892.65")
    page.mouse.move(5, 5)
    expect(page.locator(".chart-reading")).to_have_text(" ")


def test_a_long_series_is_a_line(watched: Watched) -> None:
    """Over 90 quotes no candle could be told from the next; without open, high, low and volume the close alone is drawn."""
    rows = [{"trade_date": f"2026{month:02}{day:02}", "close": 10 + day / 10} for month in (1, 2, 3, 4) for day in range(1, 29)]
    page = show(watched, "daily", json.dumps(rows))
    assert [page.locator(kind).count() for kind in (".closes", ".candle")] == [1, 0]
    expect(page.locator(".chart-sample")).to_have_count(0)


PLAIN: dict[str, tuple[str, str, bool]] = {
    "another tool": ("stock_basic", '[{"trade_date": "20261130", "close": 1}, {"trade_date": "20261127", "close": 2}]', False),
    "one quote": ("daily", '[{"trade_date": "20261130", "close": 1}]', False),
    "no rows": ("daily", '{"data": []}', False),
    "a sentence": ("daily", "（没有返回数据）", False),
    "rows of something else": ("daily", '[{"a": 1}, {"a": 2}]', False),
    "no prices": ("daily", '[{"trade_date": "20261130", "close": null}, {"trade_date": "20261127", "close": "x"}]', False),
    "an error": ("daily", '[{"trade_date": "20261130", "close": 1}, {"trade_date": "20261127", "close": 2}]', True),
    "a name of Object's": ("constructor", "[]", False),
}


@pytest.mark.parametrize("case", PLAIN)
def test_other_results_stay_text(case: str, watched: Watched) -> None:
    """No figure and no button."""
    tool, content, error = PLAIN[case]
    page = show(watched, tool, content, error=error)
    expect(page.get_by_role("region", name="Result", exact=True)).to_be_visible()
    expect(page.locator("figure.prices")).to_have_count(0)
    expect(page.get_by_role("button", name="Show text")).to_be_hidden()


SHAPES: list[tuple[Any, int]] = [
    ([{"a": 1}], 1),
    ({"data": [{"a": 1}, 2, None]}, 1),
    ({"data": {"fields": ["a"], "items": [[1], [2]]}}, 2),
    ({"code": 0, "result": {"records": [{"a": 1}]}}, 1),
    ({"a": 1}, 0),
    ("x", 0),
]


def test_rows(watched: Watched) -> None:
    """The shapes that market data servers send, as the agent itself reads them; text that is no JSON has no rows."""
    watched.page.goto(watched.address)
    body = (
        'async (arg) => { const { parseRows } = await import("./results/rows.js"); return arg.map((text) => parseRows(text).rows.length); }'
    )
    counts = watched.page.evaluate(body, [*(json.dumps(value) for value, _ in SHAPES), "{cut"])
    assert counts == [*(count for _, count in SHAPES), 0]


def test_the_texts_of_a_result_run_nothing(watched: Watched) -> None:
    """Codes and notes are text in the chart too, and nothing is wider than a small screen."""
    rows = [{"ts_code": EVIL * 9, "trade_date": day, "close": price} for day, price in (("20261127", 1), ("20261130", 2))]
    watched.page.set_viewport_size({"width": 360, "height": 700})
    try:
        page = show(watched, "monthly", json.dumps({"sample": True, "note": EVIL, "data": rows}))
        expect(page.locator(".chart-title")).to_contain_text(EVIL)
        assert page.evaluate("window.bad") is None
        assert page.locator("#messages img").count() == 0
        assert page.evaluate(FITS)
    finally:
        watched.page.set_viewport_size({"width": 1360, "height": 860})


@pytest.mark.long
def test_the_dialogue_by_clicking(real: Watched) -> None:
    """tushare offline: an ambiguous name, a choice by hand, charts of the chosen stock, a report; a reload shows the same."""
    page = real.open("#tushare")
    real.send("分析一下平安最近一个月的走势，带上月线")
    page.locator(".card").get_by_role("button", name="中国平安 (601318.SH)").click()
    expect(page.locator(".status-line")).to_contain_text("Done")
    for _ in range(2):
        expect(page.get_by_role("img", name="601318.SH price and volume")).to_have_count(2)
        expect(page.locator(".assistant .prose").last).to_contain_text("示例数据")
        page.reload()
