"""How the page stands: on a phone, under long content, without jumping."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.page.conftest import Watched, tab, watched_page
from tests.support.page_events import FINISHED, asks, interrupt, text, tool_call, tool_result
from tests.support.page_mock import Gate, Mock

pytestmark = pytest.mark.browser

LONG = "x" * 400
WIDE = f"{LONG}\n\n```\n{LONG}\n```\n\n| a | b |\n|---|---|\n| {LONG} | {LONG} |\n\n- {LONG}\n\n`{LONG}`"
FITS = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#scroller').scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def small(browser: Browser) -> Page:
    return tab(browser, viewport={"width": 360, "height": 700}, is_mobile=True, has_touch=True)


@pytest.fixture
def phone(small: Page, mock: Mock, mock_server: tuple[Mock, str]) -> Iterator[Watched]:
    """The page on a small phone."""
    with watched_page(small, mock, mock_server[1]) as one:
        yield one


def test_phone_never_scrolls_sideways(phone: Watched) -> None:
    """At 360 pixels nothing is wider than the screen: not a long word, code, table, tool call, error or card."""
    page = phone.open()
    assert page.evaluate(FITS)
    cards = [
        interrupt("i1", "approval", message=LONG, details={LONG: LONG, "deep": {"x": LONG}}),
        interrupt("i2", "select", message=LONG, options=[{"label": LONG, "value": "x"}]),
        interrupt("i3", "modal", title=LONG, body=WIDE, actions=["one", "two two two", "three three three", "four"]),
        {"id": "i4", "reason": LONG, "message": LONG, "responseSchema": {"properties": {LONG: {"type": "string"}}}},
    ]
    phone.mock.will_stream(*text("a1", WIDE), *tool_call("c1", LONG, {LONG: LONG}, parent="a1"), tool_result("c1", LONG), asks(*cards))
    phone.send(LONG)
    expect(page.locator(".card")).to_have_count(4)
    assert page.evaluate(FITS)


def test_phone_panes_are_drawers(phone: Watched) -> None:
    """The events lie over the conversation and close by their button, the backdrop or Escape; the agents too."""
    page = phone.open()
    pane = page.get_by_role("complementary", name="Run details")
    closings: list[Callable[[], None]] = [
        lambda: page.get_by_role("button", name="Close run details").click(),
        lambda: page.keyboard.press("Escape"),
        lambda: page.locator("#backdrop").click(position={"x": 5, "y": 300}),
    ]
    for close in closings:
        expect(pane).to_be_hidden()
        page.get_by_role("button", name="Events").click()
        expect(pane).to_be_visible()
        assert page.evaluate(FITS)
        close()
    expect(pane).to_be_hidden()
    page.get_by_role("button", name="Agents").click()
    page.get_by_role("link", name="Assistant").click()
    expect(page.get_by_role("navigation", name="Agents")).to_be_hidden()
    expect(page.locator("#agent-title")).to_have_text("Assistant")


def test_stream_follows_the_end_until_the_reader_scrolls(watched: Watched) -> None:
    """While text streams the end stays in view; a reader who scrolled up is left alone and can jump back."""
    page = watched.open()
    gates = [Gate(), Gate()]
    watched.mock.will_stream(*text("a1", "line\n\n" * 60), gates[0], *text("a2", "more\n\n" * 40), gates[1], FINISHED)
    watched.send("go")
    at_end = "(() => { const s = document.querySelector('#scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight < 4 })()"
    watched.wait_until(lambda: page.evaluate("document.querySelector('#scroller').scrollTop > 500"))
    assert page.evaluate(at_end)
    page.evaluate("document.querySelector('#scroller').scrollTop = 100")
    expect(page.get_by_role("button", name="Go to the newest message")).to_be_visible()
    gates[0].set()
    expect(page.locator(".assistant")).to_have_count(2)
    gates[1].set()
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert page.evaluate("document.querySelector('#scroller').scrollTop") == 100
    page.get_by_role("button", name="Go to the newest message").click()
    assert page.evaluate(at_end)


def test_nothing_jumps_while_streaming(watched: Watched) -> None:
    """No element that stands already is moved by what comes in below it: the browser counts no layout shift."""
    page = watched.open()
    call = tool_call("c1", "kb_search", {"query": "leave", "top": [1, 2]}, parent="a1", pause=0.02)
    answer = text("a2", "A **short** answer.\n\n- one\n- two", pause=0.02)
    gate = Gate()
    watched.mock.will_stream(*call[:3], gate, *call[3:], tool_result("c1", "found"), *answer, FINISHED)
    watched.send("go")
    expect(page.locator(".assistant").first).to_be_visible()
    page.evaluate("""() => {
        window.shift = 0;
        new PerformanceObserver(list => list.getEntries().forEach(one => {
            // the line under the conversation moves down as the text grows; that is what growing means
            if (one.sources.some(({node}) => node && !node.parentElement?.closest("#status, .status-line"))) window.shift += one.value;
        })).observe({type: "layout-shift"});
    }""")
    gate.set()
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert page.evaluate("window.shift") < 0.01


def test_ten_thousand_tokens_do_not_lag(watched: Watched) -> None:
    """10,000 deltas in one burst are drawn, many to a frame, and the events pane keeps only its newest rows."""
    page = watched.open()
    deltas = [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a1", "delta": f"word{n} " + ("\n\n" if n % 40 == 39 else "")} for n in range(10_000)
    ]
    watched.mock.will_stream(
        {"type": "TEXT_MESSAGE_START", "messageId": "a1"}, *deltas, {"type": "TEXT_MESSAGE_END", "messageId": "a1"}, FINISHED
    )
    watched.send("go")
    expect(page.locator(".status-line")).to_contain_text("Done")
    expect(page.locator(".assistant .prose > p")).to_have_count(250)
    assert page.locator(".event-list > li").count() <= 1300
