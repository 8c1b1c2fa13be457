"""What the page does when something goes wrong: it says what, what to do, and loses nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page.conftest import Watched
from tests.support.page_events import FINISHED, asks, interrupt, saved, text
from tests.support.page_mock import BREAK

pytestmark = pytest.mark.browser

QUESTION = interrupt("i1", "input", message="Name?")


def _field(page: Page) -> str:
    return page.get_by_role("textbox", name="Message").input_value()


def test_run_error_is_shown_and_can_be_tried_again(watched: Watched) -> None:
    """RUN_ERROR: message and code; what was streamed stays; Try again runs the thread once more without a new message."""
    page = watched.open()
    watched.mock.will_stream(
        *text("a1", "half an ans"), {"type": "RUN_ERROR", "message": "The model did not answer.", "code": "UPSTREAM_TIMEOUT"}
    )
    watched.send("hello")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("The model did not answer.")
    expect(notice).to_contain_text("UPSTREAM_TIMEOUT")
    expect(page.locator(".assistant")).to_have_text("half an ans")
    watched.mock.will_stream(*text("a2", "whole"), FINISHED)
    notice.get_by_role("button", name="Try again").click()
    expect(page.locator(".assistant").last).to_have_text("whole")
    expect(notice.get_by_role("button")).to_have_count(0)
    assert [m["role"] for m in watched.mock.bodies()[1]["messages"]] == ["user", "assistant"]


ADVICE = {
    422: "Change it and send it again",
    401: "signed-in",
    409: "Reload it",
    413: "shorter",
    429: "Wait a moment",
    502: "Its log says why",
}


def test_refused_message_goes_back_to_the_field(watched: Watched) -> None:
    """An HTTP error before the stream: the server's words, the status, what to do; the message is in the field again."""
    watched.may_fail = True
    page = watched.open()
    for status, advice in ADVICE.items():
        watched.mock.will_refuse(status, "SOME_CODE", "messages: too long")
        watched.send("hello")
        notice = page.get_by_role("alert").last
        for words in ("messages: too long", f"HTTP {status} · SOME_CODE", advice):
            expect(notice).to_contain_text(words)
        expect(page.get_by_role("textbox", name="Message")).to_have_value("hello")
        expect(page.locator(".user")).to_have_count(0)


def test_refused_answer_can_be_sent_again(watched: Watched) -> None:
    """A resume that the server refuses leaves the card open, with what was typed in it."""
    watched.may_fail = True
    page = watched.open()
    watched.mock.will_stream(asks(QUESTION))
    watched.send("hello")
    page.get_by_label("Name?").last.fill("Ada")
    watched.mock.will_refuse(429, "THROTTLED", "slow down")
    page.get_by_role("button", name="Send", exact=True).first.click()
    expect(page.get_by_role("alert")).to_contain_text("slow down")
    expect(page.get_by_label("Name?").last).to_have_value("Ada")
    expect(page.locator(".answer")).to_have_count(0)
    expect(page.locator(".user")).to_have_count(1)
    watched.mock.will_stream(FINISHED)
    page.get_by_label("Name?").last.press("Enter")
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert watched.mock.bodies()[2]["resume"] == [{"interruptId": "i1", "status": "resolved", "payload": {"value": "Ada"}}]


def test_invalid_answer_keeps_the_question_open(watched: Watched) -> None:
    """RUN_ERROR on a resume: the thread is asked what is still open, and its card is there again."""
    page = watched.open()
    watched.mock.will_stream(asks(QUESTION))
    watched.send("hello")
    watched.mock.will_stream({"type": "RUN_ERROR", "message": "The answer has the wrong shape.", "code": "INVALID_RESUME"})
    watched.mock.will_replay(saved({"id": "other", "role": "user", "content": "not shown"}), asks(QUESTION))
    page.get_by_label("Name?").last.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("INVALID_RESUME")
    expect(page.get_by_role("group", name="Name?")).to_be_visible()
    expect(page.get_by_text("not shown")).to_have_count(0)


@pytest.mark.parametrize("end", [(), (BREAK,)], ids=["ended without a terminal event", "cut"])
def test_truncated_stream_is_read_back(watched: Watched, end: tuple[str, ...]) -> None:
    """A stream that breaks off: /connect is asked, and what the checkpoint holds replaces what was half received."""
    watched.may_fail = True
    page = watched.open()
    watched.mock.will_stream(*text("a1", "half"), *end)
    user_id = "document.querySelectorAll('.user').length"
    whole = {"id": "a1", "role": "assistant", "content": "the whole answer"}
    watched.mock.will_replay(saved(whole), asks(QUESTION))
    watched.send("hello")
    expect(page.locator(".assistant")).to_have_text("the whole answer")
    expect(page.get_by_role("group", name="Name?")).to_be_visible()
    expect(page.get_by_text("The connection broke")).to_be_visible()
    assert page.evaluate(user_id) == 0  # the thread does not have it …
    assert _field(page) == "hello"  # … so it goes back to the writer
    assert watched.mock.bodies("connect")[0]["threadId"] == watched.mock.bodies()[0]["threadId"]


def test_unreachable_agent(watched: Watched) -> None:
    """Nobody answers at all: the page says so, gives the message back, and Reload thread works once the agent is there again."""
    watched.may_fail = True
    page = watched.open()
    page.route("**/agents/**", lambda route: route.abort())
    watched.send("hello")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Cannot reach the agent")
    assert _field(page) == "hello"
    page.unroute("**/agents/**")
    watched.mock.will_replay(saved({"id": "a1", "role": "assistant", "content": "here again"}), FINISHED)
    notice.get_by_role("button", name="Reload thread").click()
    expect(page.locator(".assistant")).to_have_text("here again")


def test_cancelled_run(watched: Watched) -> None:
    """A run that the server ended early is not shown as a success."""
    page = watched.open()
    watched.mock.will_stream({"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}})
    watched.send("hello")
    expect(page.locator(".notice")).to_contain_text("Cancelled")
    expect(page.locator(".status-line")).to_contain_text("Cancelled")


def test_delta_that_does_not_fit(watched: Watched) -> None:
    """A bad STATE_DELTA is reported and the run goes on."""
    page = watched.open()
    bad = {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/no/such", "value": 1}]}
    watched.mock.will_stream(bad, *text("a1", "still here"), FINISHED)
    watched.send("hello")
    expect(page.locator(".notice")).to_contain_text("STATE_DELTA")
    expect(page.locator(".assistant")).to_have_text("still here")


def test_no_config(watched: Watched) -> None:
    """Without agents the page says what to do instead of staying empty."""
    watched.page.route("**/config.json", lambda route: route.fulfill(json={"agents": []}))
    watched.page.goto(watched.address)
    expect(watched.page.locator("#welcome")).to_contain_text("config.json lists no agent")
