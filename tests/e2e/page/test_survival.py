"""The page and a run that goes on without it: a reload in the middle, and the stop button, with the real stack behind it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.page.conftest import Watched
from tests.support.page_events import FINISHED, text
from tests.support.page_mock import BREAK, Gate

pytestmark = pytest.mark.browser


@pytest.mark.long
def test_a_reload_in_the_middle_of_a_run(real: Watched) -> None:
    """The page shows the question again, and the answer as it goes on, to its end."""
    page = real.open("#reactAgent")
    real.send("count to 3000")
    expect(page.locator(".assistant")).to_contain_text("20")
    page.reload()
    expect(page.locator(".status-line")).to_contain_text("Working", timeout=30_000)
    expect(page.locator(".bubble")).to_have_count(1)
    page.get_by_role("button", name="Stop").wait_for()
    expect(page.locator(".assistant")).to_contain_text("3000", timeout=60_000)
    expect(page.locator(".status-line")).to_contain_text("Done")
    expect(page.locator(".assistant")).to_have_count(1)


def test_stop_ends_the_run(real: Watched) -> None:
    """In the process that runs it: the page says so, and the thread takes the next message at once."""
    page = real.open("#reactAgent")
    real.send("count to 4000")
    expect(page.locator(".assistant")).to_contain_text("20")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".status-line")).to_contain_text("Cancelled", timeout=15_000)
    real.send("count to 3")
    expect(page.locator(".status-line")).to_contain_text("Done", timeout=15_000)
    expect(page.locator(".assistant").last).to_have_text(re.compile("3"))


def test_a_broken_stream_goes_on(watched: Watched) -> None:
    """The connection breaks, the run does not: what it still says appears, without a word about the connection."""
    page = watched.open()
    watched.may_fail = True
    watched.mock.will_stream(*text("a1", "half"), BREAK)
    watched.mock.will_replay_live({"type": "MESSAGES_SNAPSHOT", "messages": []}, *text("a1", "half and whole"), FINISHED)
    watched.send("hello")
    expect(page.locator(".assistant")).to_contain_text("half and whole")
    expect(page.locator(".status-line")).to_contain_text("Done")
    expect(page.get_by_text("The connection broke")).to_have_count(0)


def test_a_run_that_outlasts_its_invocation_goes_on(watched: Watched) -> None:
    """Its stream ends with the invocation that it came from: the page asks for the rest, without a word about it."""
    page = watched.open()
    goes_on = {"type": "RUN_ERROR", "message": "The run goes on.", "code": "JOIN_ENDED"}
    watched.mock.will_stream(*text("a1", "half"), goes_on)
    watched.mock.will_replay_live({"type": "MESSAGES_SNAPSHOT", "messages": []}, *text("a1", "half and whole"), FINISHED)
    watched.send("hello")
    expect(page.locator(".assistant")).to_contain_text("half and whole")
    expect(page.locator(".status-line")).to_contain_text("Done")
    expect(page.get_by_text("The run goes on.")).to_have_count(0)
    expect(page.get_by_text("The connection broke")).to_have_count(0)


def test_stop_twice_leaves_the_stream(watched: Watched) -> None:
    """A server that was told and does not end: the second click leaves."""
    page = watched.open()
    watched.mock.will_stream(*text("a1", "a long answer"), Gate(), FINISHED)
    watched.send("hello")
    expect(page.locator(".assistant")).to_contain_text("a long answer")
    watched.mock.stops = 200
    page.keyboard.press("Escape")
    watched.wait_until(lambda: len(watched.mock.stopped) == 1)
    expect(page.get_by_text("You stopped listening")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_text("You stopped listening")).to_be_visible()
