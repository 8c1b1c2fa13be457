"""The title in the top bar, and an agent that cannot run here."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.page.conftest import Watched
from tests.support.page_events import FINISHED, text
from tests.support.page_mock import Mock

pytestmark = pytest.mark.browser

REASON = "claudeAgent needs the package claude_agent_sdk. Install it with: uv sync --extra claude"


def test_a_title_is_shown_and_renamed(watched: Watched) -> None:
    """It comes when the run has ended. Enter keeps what was typed, Escape does not, and a blank title is none."""
    page = watched.open()
    field, button = page.get_by_label("Title of this conversation"), page.locator(".thread-title")
    expect(button).to_be_hidden()
    watched.mock.will_stream(*text("a1", "Hello."), FINISHED)
    watched.send("hi")
    expect(button).to_have_text("Untitled")
    for typed, key, shown in (("Mine", "Enter", "Mine"), ("Other", "Escape", "Mine"), ("  ", "Enter", "Mine"), ("Ours", "Tab", "Ours")):
        button.click()
        expect(field).to_be_focused()
        field.fill(typed)
        field.press(key)
        expect(field).to_be_hidden()
        expect(button).to_have_text(shown)
    watched.wait_until(lambda: list(watched.mock.titles.values()) == ["Ours"])
    page.get_by_role("button", name="New thread").click()
    expect(button).to_be_hidden()


def test_a_title_that_is_refused_goes_back(watched: Watched) -> None:
    """The one before is shown again."""
    watched.may_fail = True
    watched.mock.title_refused = True
    page = watched.open()
    watched.mock.will_stream(*text("a1", "Hello."), FINISHED)
    watched.send("hi")
    page.locator(".thread-title").click()
    page.get_by_label("Title of this conversation").fill("Mine")
    page.keyboard.press("Enter")
    expect(page.locator(".thread-title")).to_have_text("Untitled")


def test_an_agent_that_cannot_run_says_why(watched: Watched, mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the list with a badge and not the one that the page begins with; its view has the reason and takes no message."""
    claude = {"name": "claudeAgent", "title": "Claude", "description": "Reads.", "url": "agents/claudeAgent/", "unavailable": REASON}
    monkeypatch.setattr(mock, "agents", [claude, *mock.agents])
    page = watched.open("")
    expect(page.locator("#agent-title")).to_have_text("Assistant")
    expect(page.locator(".agent[data-agent=claudeAgent] .badge")).to_have_text("not available")
    page.locator(".agent[data-agent=claudeAgent]").click()
    expect(page.locator("#welcome")).to_contain_text("uv sync --extra claude")
    expect(page.get_by_role("textbox", name="Message")).to_be_disabled()
    page.locator(".agent[data-agent=dev]").click()
    expect(page.get_by_role("textbox", name="Message")).to_be_enabled()
