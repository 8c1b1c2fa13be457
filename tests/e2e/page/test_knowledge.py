"""Citations open their passage; documents are chosen, imported with their progress, listed and deleted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.page.conftest import Watched, tab, watched_page
from tests.support.page_events import FINISHED, text
from tests.support.page_mock import Gate, Mock

pytestmark = pytest.mark.browser

LINK = "/kb?doc=hr%2Fleave&chunk=1"
PASSAGE = {
    "kbId": "hr",
    "docId": "hr/leave",
    "chunkId": "1",
    "headings": ["Leave", "Annual"],
    "text": "15 **days**. <img src=x onerror=bad()>",
}


def says(mock: Mock, method: str, path: str, value: Any, status: int = 200) -> None:
    mock.others[method, path] = status, value if isinstance(value, str) else json.dumps(value)


def cited(watched: Watched, label: str = "Leave › Annual") -> Page:
    page = watched.open("#reactAgent")
    watched.mock.will_stream(*text("a1", f"15 days [{label}]({LINK})."), FINISHED)
    watched.send("leave?")
    return page


def test_a_citation_opens_its_passage(watched: Watched) -> None:
    """Read from the agent that cited it, shown as text in a dialog; Escape gives the focus back to the link."""
    says(watched.mock, "GET", LINK[1:], PASSAGE)
    page = cited(watched)
    link = page.get_by_role("link", name="Leave › Annual")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Annual")
    expect(dialog).to_contain_text("15 days. <img src=x onerror=bad()>")
    expect(dialog).to_contain_text("hr › leave › Leave")
    expect(dialog.locator("strong")).to_have_text("days")
    assert dialog.locator("img").count() == 0
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(link).to_be_focused()


def test_escape_in_a_dialog_closes_the_dialog_alone(watched: Watched) -> None:
    """The run goes on, also while an input method composes; the next Escape stops it."""
    says(watched.mock, "GET", LINK[1:], PASSAGE)
    page = watched.open("#reactAgent")
    watched.mock.will_stream(*text("a1", f"15 days [Leave]({LINK})."), Gate(), FINISHED)
    watched.send("leave?")
    page.get_by_role("link", name="Leave").click()
    expect(page.get_by_role("dialog")).to_contain_text("15 days.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    message = page.get_by_role("textbox", name="Message")
    message.dispatch_event("keydown", {"key": "Escape", "isComposing": True, "bubbles": True})
    expect(page.get_by_text("You stopped listening")).to_have_count(0)
    assert watched.mock.left == 0
    watched.may_fail = True  # the server knows no stop
    message.press("Escape")
    expect(page.get_by_text("You stopped listening")).to_be_visible()


def test_a_label_may_hold_brackets(watched: Watched) -> None:
    """As a heading with brackets is escaped."""
    page = cited(watched, r"Leave \[sample\] (2026)")
    expect(page.get_by_role("link", name="Leave [sample] (2026)")).to_have_attribute("href", LINK)


def test_a_passage_that_is_gone(watched: Watched) -> None:
    """The dialog says so, in the server's words."""
    watched.may_fail = True
    says(watched.mock, "GET", LINK[1:], {"error": {"code": "NOT_FOUND", "message": "Its document was deleted."}}, 404)
    page = cited(watched)
    page.get_by_role("link", name="Leave › Annual").click()
    expect(page.get_by_role("dialog")).to_contain_text("Its document was deleted.")
    page.get_by_role("button", name="Close passage").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def documents(mock: Mock, *ids: str, **more: Any) -> None:
    """The base `hr` has these documents."""
    says(mock, "GET", "kb/bases", {"bases": [{"kbId": "hr", "documents": len(ids), "writable": True}], "samples": ["handbook"]})
    entries = [{"docId": one, "title": one.upper(), "status": "completed", "chunks": 2, **more} for one in ids]
    says(mock, "GET", "kb/documents?kb=hr", {"kbId": "hr", "documents": entries, "writable": True})
    says(mock, "GET", "kb/documents?kb=handbook", {"kbId": "handbook", "documents": [], "writable": True})


def open_documents(watched: Watched) -> Page:
    page = watched.open("#kb")
    page.get_by_role("button", name="Documents").click()
    return page


def test_an_import_shows_its_progress(watched: Watched, tmp_path: Path) -> None:
    """Each file is sent under its name; each document has a line that changes; one that is refused says why, the others go on."""
    watched.may_fail = True
    documents(watched.mock, "hr/a")
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(f"text of {name}", "utf-8")
    steps: list[dict[str, Any]] = [{"docId": "hr/a", "status": "draft"}, {"docId": "hr/a", "status": "completed", "chunks": 1}]
    says(watched.mock, "POST", "kb/documents?kb=hr&name=a.md", "\n".join(map(json.dumps, [*steps, {"done": {"completed": 1}}])) + "\n")
    busy = {"error": {"code": "DOCUMENT_BUSY", "message": "Another import is at work."}}
    says(watched.mock, "POST", "kb/documents?kb=hr&name=b.md", busy, 409)
    says(watched.mock, "POST", "kb/documents?kb=hr&name=c.md", json.dumps({"docId": "hr/c", "status": "draft"}) + "\n")  # breaks off
    page = open_documents(watched)
    dialog = page.get_by_role("dialog", name="Documents")
    dialog.get_by_label("Into the knowledge base").fill("hr")
    dialog.get_by_label("Markdown, text or zip files").set_input_files([tmp_path / name for name in ("a.md", "b.md", "c.md")])
    dialog.get_by_role("button", name="Import").click()
    progress = dialog.get_by_role("list", name="Progress of the import").get_by_role("listitem")
    expect(progress).to_have_text(
        ["hr/a: ready (1 passage)", "b.md: failed, Another import is at work.", "hr/c: saved", "c.md: failed, the answer broke off"]
    )
    expect(dialog.get_by_role("status")).to_have_text("1 ready, 2 failed, 1 saved")
    sent = [(path, data) for method, path, data in watched.mock.asked if method == "POST"]
    assert sent[0] == ("kb/documents?kb=hr&name=a.md", b"text of a.md")


def test_a_document_is_deleted(watched: Watched) -> None:
    """And leaves the list."""
    documents(watched.mock, "hr/a", "hr/b")
    says(watched.mock, "DELETE", "kb/documents?kb=hr&doc=hr%2Fa", {"deleted": "hr/a"})
    page = open_documents(watched)
    rows = page.get_by_role("list", name="Documents").get_by_role("listitem")
    expect(rows).to_contain_text(["HR/A", "HR/B"])
    documents(watched.mock, "hr/b")
    page.get_by_role("button", name="Delete hr/a").click()
    expect(rows).to_contain_text(["HR/B"])
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("Deleted hr/a.")


def test_the_chosen_base_is_asked(watched: Watched) -> None:
    """`kbId` goes along with kb's runs, beside the thread's state, until another is chosen; other agents are not touched."""
    documents(watched.mock, "hr/a")
    page = open_documents(watched)
    page.get_by_label("Ask about").select_option("hr")
    page.get_by_role("button", name="Close documents").click()
    expect(page.get_by_role("button", name="Documents: hr")).to_be_visible()
    watched.mock.will_stream({"type": "STATE_SNAPSHOT", "snapshot": {"routeRejected": False}}, FINISHED)
    watched.send("one")
    expect(page.locator(".status-line")).to_contain_text("Done")
    watched.mock.will_stream(FINISHED)
    watched.send("two")
    watched.wait_until(lambda: len(watched.mock.bodies()) == 2)
    assert [body["state"] for body in watched.mock.bodies()] == [{"kbId": "hr"}, {"routeRejected": False, "kbId": "hr"}]
    watched.open("#dev")
    expect(page.get_by_role("button", name="Documents")).to_be_hidden()


def test_a_store_that_is_down_is_said(watched: Watched) -> None:
    """In the dialog, which stays usable."""
    watched.may_fail = True
    says(watched.mock, "GET", "kb/bases", {"error": {"code": "KB_INFRA_DOWN", "message": "Cannot be reached."}}, 503)
    page = open_documents(watched)
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("Cannot be reached.")


def test_documents_on_a_phone(browser: Browser, mock: Mock, mock_server: tuple[Mock, str]) -> None:
    """At 360 pixels nothing is wider than the screen, and every control has a name."""
    page = tab(browser, viewport={"width": 360, "height": 740}, color_scheme="dark")
    with watched_page(page, mock, mock_server[1]) as one:
        documents(mock, "hr/" + "long-name-" * 12, error="The embedding model failed.", status="error")
        open_documents(one)
        expect(page.get_by_role("dialog")).to_contain_text("The embedding model failed.")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert page.evaluate("(() => { const d = document.querySelector('dialog[open]'); return d.scrollWidth <= d.clientWidth; })()")
        controls = "[...document.querySelectorAll('dialog[open] :is(button, input, select)')]"
        assert page.evaluate(f"{controls}.filter(e => !(e.labels?.length || e.ariaLabel || e.textContent)).length") == 0
