"""The editor of writer and editorChat, against a function URL that says what the test tells it to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.page.conftest import Watched, tab, watched_page
from tests.e2e.page.test_editor_modules import NEW, OLD, value
from tests.support.page_events import FINISHED, Event, text
from tests.support.page_mock import BREAK, Gate, Mock, served

pytestmark = pytest.mark.browser

WRITERS = [
    {"name": name, "title": name, "description": "", "url": f"agents/{name}/", "offline": False, "prompts": ["润色全文"]}
    for name in ("writer", "editorChat", "dev")
]


@pytest.fixture(scope="module")
def writers() -> Iterator[tuple[Mock, str]]:
    mock = Mock(WRITERS)
    with served(mock) as address:
        yield mock, address


@pytest.fixture
def editor(desktop: Page, writers: tuple[Mock, str]) -> Iterator[Watched]:
    """The page on a desk; its thread list has writer and editorChat."""
    mock, address = writers
    mock.forget()
    forget(desktop, address)
    with watched_page(desktop, mock, address) as one:
        yield one


def forget(page: Page, address: str) -> None:
    """Also what the editor of the test before has saved when it was left."""
    page.goto(f"{address}#dev")
    page.evaluate("sessionStorage.clear(); localStorage.clear()")


def changes(old: str = OLD, new: str = NEW) -> Event:
    return {"type": "CUSTOM", "name": "writer_change_summaries", "value": value(old, new)}


def document(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Document")


def done(page: Page) -> None:
    expect(page.locator(".status-line")).to_contain_text("Done")


def select(page: Page, start: int, end: int) -> None:
    document(page).evaluate("(field, range) => { field.focus(); field.setSelectionRange(...range); }", [start, end])


def suggested(editor: Watched, old: str = OLD, new: str = NEW) -> Page:
    """writer has been asked and has answered."""
    page = editor.open("#writer")
    document(page).fill(old)
    editor.mock.will_stream(*text("n1", "编写中…"), changes(old, new), *text("a1", "好了"), FINISHED)
    page.get_by_role("button", name="Rewrite document").click()
    done(page)
    return page


def test_what_a_rewrite_sends(editor: Watched) -> None:
    """The document as it is, the case, the instruction, the selection as focus; the thread's other agents send nothing of it."""
    page = editor.open("#writer")
    document(page).fill("  one\ntwo \n\n")
    page.get_by_role("textbox", name="How to rewrite").fill(" shorter ")
    select(page, 2, 5)
    editor.mock.will_stream(FINISHED)
    editor.send("polish it")
    done(page)
    [body] = editor.mock.bodies()
    assert body["state"] == {
        "editCase": "document",
        "documentBaseline": "  one\ntwo \n\n",
        "polishInstruction": "shorter",
        "focuses": ["one"],
    }
    assert body["messages"][-1]["content"] == "polish it"
    page.get_by_role("link", name="dev").click()
    expect(document(page)).to_have_count(0)
    editor.mock.will_stream(FINISHED)
    editor.send("hi")
    done(page)
    assert editor.mock.bodies()[1]["state"] == {}


def test_accept_reject_and_undo(editor: Watched) -> None:
    """Each card shows both sides and the note; accepting one changes the document, rejecting one does not, undo takes it back."""
    page = suggested(editor)
    cards = page.locator(".suggestion")
    expect(cards).to_have_count(3)
    expect(page.locator(".suggestion-head")).to_contain_text("3 suggestions")
    expect(cards.first).to_contain_text("note 0")
    expect(cards.first.locator("del")).to_have_text("one")
    expect(cards.first.locator("ins")).to_have_text("ONE")
    expect(page.locator(".record")).to_have_count(0)  # the event is the panel's, not the conversation's
    cards.first.get_by_role("button", name="Accept").click()
    expect(document(page)).to_have_value("ONE\n" + OLD[4:])
    cards.first.get_by_role("button", name="Reject").click()
    expect(cards).to_have_count(1)
    expect(document(page)).to_have_value("ONE\n" + OLD[4:])
    page.get_by_role("button", name="Undo").click()
    expect(document(page)).to_have_value(OLD)
    expect(cards).to_have_count(3)
    page.get_by_role("button", name="Accept all").click()
    expect(document(page)).to_have_value(NEW)
    expect(cards).to_have_count(0)


def test_by_keyboard_alone(editor: Watched) -> None:
    """After an answer the next card's button has the focus; at the end the list itself."""
    page = suggested(editor)
    page.locator(".suggestion").first.get_by_role("button", name="Accept").focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    expect(document(page)).to_have_value(NEW)


def test_show_selects_the_place(editor: Watched) -> None:
    """Where a suggestion would change the document."""
    page = suggested(editor)
    page.get_by_role("button", name="Show line 3 in the document").click()
    expect(document(page)).to_be_focused()
    assert document(page).evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == "three\n"


def test_typing_makes_a_suggestion_stale(editor: Watched) -> None:
    """It says so, cannot be accepted, and stays out of accept all; typed back it is fresh again."""
    page = suggested(editor)
    document(page).fill(OLD.replace("one", "uno"))
    first = page.locator(".suggestion").first
    expect(first).to_contain_text("stale")
    expect(first.get_by_role("button", name="Accept")).to_be_disabled()
    document(page).fill(OLD)
    expect(first.get_by_role("button", name="Accept")).to_be_enabled()
    document(page).fill(OLD.replace("one", "uno"))
    page.get_by_role("button", name="Accept all").click()
    expect(document(page)).to_have_value(NEW.replace("ONE", "uno"))
    expect(page.locator(".suggestion")).to_have_count(1)


def test_baseline_stale(editor: Watched) -> None:
    """The document was changed while the agent wrote: the suggestions are refused and nothing is lost; undone, they can be taken."""
    page = editor.open("#writer")
    document(page).fill(OLD)
    gate = Gate()
    editor.mock.will_stream(*text("n1", "编写中…"), gate, changes(), FINISHED)
    page.get_by_role("button", name="Rewrite document").click()
    expect(page.get_by_role("button", name="Rewrite document")).to_be_disabled()
    document(page).fill(OLD + "more")
    gate.set()
    expect(page.get_by_role("alert")).to_contain_text("BASELINE_STALE")
    expect(page.locator(".suggestion")).to_have_count(0)
    page.get_by_role("button", name="Take them").click()
    expect(page.get_by_role("alert")).to_contain_text("BASELINE_STALE")
    document(page).fill(OLD)
    page.get_by_role("button", name="Take them").click()
    expect(page.locator(".suggestion")).to_have_count(3)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_selection_is_rewritten(editor: Watched) -> None:
    """It goes as the message, the document stays here; the ghost grows in its surroundings; accepted it takes the selection's place."""
    page = editor.open("#writer")
    document(page).fill("one two three")
    expect(page.get_by_role("button", name="Rewrite selection")).to_be_disabled()
    select(page, 4, 7)
    pieces, gate = text("a1", "two and a half"), Gate()
    editor.mock.will_stream(*pieces[:3], gate, *pieces[3:], FINISHED)
    page.get_by_role("button", name="Rewrite selection").click()
    ghost = page.get_by_role("region", name="Rewrite of the selection")
    expect(ghost.locator("ins")).to_have_text("two")
    expect(ghost.locator("del")).to_have_text("two")
    expect(ghost.get_by_role("button", name="Accept")).to_be_disabled()
    expect(document(page)).not_to_be_editable()
    gate.set()
    expect(ghost.locator("ins")).to_have_text("two and a half")
    expect(document(page)).to_have_value("one two three")
    ghost.get_by_role("button", name="Accept").click()
    expect(document(page)).to_have_value("one two and a half three")
    expect(ghost).to_be_hidden()
    [body] = editor.mock.bodies()
    assert (body["messages"][-1]["content"], body["state"]) == ("two", {"editCase": "inline"})


def test_editor_busy(editor: Watched) -> None:
    """Suggestions that arrive while a rewrite waits to be accepted are refused, and can be taken once it is discarded."""
    page = editor.open("#writer")
    document(page).fill(OLD)
    select(page, 0, 3)
    editor.mock.will_stream(*text("a1", "uno"), FINISHED)
    page.get_by_role("button", name="Rewrite selection").click()
    ghost = page.get_by_role("region", name="Rewrite of the selection")
    expect(ghost.get_by_role("button", name="Accept")).to_be_enabled()
    editor.mock.will_stream(changes(), FINISHED)
    editor.send("polish the rest")
    expect(page.get_by_role("alert")).to_contain_text("EDITOR_BUSY")
    expect(ghost.locator("ins")).to_have_text("uno")
    ghost.get_by_role("button", name="Discard").click()
    page.get_by_role("button", name="Take them").click()
    expect(page.locator(".suggestion")).to_have_count(3)
    expect(document(page)).to_have_value(OLD)


def test_a_rewrite_that_fails(editor: Watched) -> None:
    """Nothing is replaced; the same run tried again fills the ghost; discarded while it streams, it stops."""
    page = editor.open("#writer")
    document(page).fill("one two")
    select(page, 0, 3)
    editor.mock.will_stream(*text("a1", "half a"), {"type": "RUN_ERROR", "message": "no", "code": "UPSTREAM_TIMEOUT"})
    page.get_by_role("button", name="Rewrite selection").click()
    ghost = page.get_by_role("region", name="Rewrite of the selection")
    expect(ghost).to_contain_text("was not rewritten")
    editor.mock.will_stream(*text("a2", "whole"), FINISHED)
    page.get_by_role("button", name="Try again").click()
    expect(ghost.locator("ins")).to_have_text("whole")
    assert [body["state"] for body in editor.mock.bodies()] == [{"editCase": "inline"}] * 2
    ghost.get_by_role("button", name="Discard").click()
    select(page, 0, 3)
    editor.mock.will_stream(*text("a3", "slow"), Gate(), FINISHED)
    page.get_by_role("button", name="Rewrite selection").click()
    expect(ghost.locator("ins")).to_have_text("slow")
    editor.may_fail = True  # the server knows no stop
    ghost.get_by_role("button", name="Discard").click()
    editor.wait_until(lambda: editor.mock.left == 1)
    expect(ghost).to_be_hidden()
    expect(document(page)).to_be_editable()


def test_a_broken_stream_brings_no_rewrite(editor: Watched) -> None:
    """Half a text cannot be accepted."""
    editor.may_fail = True
    page = editor.open("#writer")
    document(page).fill("one two")
    select(page, 0, 3)
    editor.mock.will_stream(*text("a1", "half a")[:-1], BREAK)
    page.get_by_role("button", name="Rewrite selection").click()
    ghost = page.get_by_role("region", name="Rewrite of the selection")
    expect(ghost).to_contain_text("was not rewritten")
    expect(ghost.get_by_role("button", name="Accept")).to_be_disabled()
    page.get_by_role("button", name="Discard").click()
    expect(document(page)).to_be_editable()


def test_a_reload_loses_nothing(editor: Watched) -> None:
    """Document, suggestions and instruction belong to the thread; another thread has its own; a suggestion still fits after a reload."""
    page = suggested(editor)
    page.get_by_role("textbox", name="How to rewrite").fill("shorter")
    document(page).fill("0\n" + OLD)
    editor.mock.will_replay(FINISHED)
    page.reload()
    expect(document(page)).to_have_value("0\n" + OLD)
    expect(page.get_by_role("textbox", name="How to rewrite")).to_have_value("shorter")
    page.locator(".suggestion").first.get_by_role("button", name="Accept").click()
    expect(document(page)).to_have_value("0\nONE\n" + OLD[4:])
    first = page.url
    page.get_by_role("button", name="New thread").click()
    expect(document(page)).to_have_value("")
    document(page).fill("another")
    editor.mock.will_replay(FINISHED)
    page.goto(first)
    expect(document(page)).to_have_value("0\nONE\n" + OLD[4:])


def test_nothing_to_change(editor: Watched) -> None:
    """The agent found nothing: the list says so."""
    page = suggested(editor, OLD, OLD)
    expect(page.locator(".suggestion-head")).to_contain_text("Nothing to change")
    expect(page.get_by_role("button", name="Accept all")).to_be_hidden()


def test_a_file_keeps_its_form(editor: Watched) -> None:
    """Outer blanks, CRLF and emoji of an opened file go out and come back as they were, also after typing and accepting."""
    old, new = "\r\n 🎉\r\none\r\ntwo\r\n\r\n", "\r\n 🎉\r\nONE\r\ntwo\r\n\r\n"
    page = editor.open("#writer")
    page.get_by_label("Open a document").set_input_files({"name": "a.md", "mimeType": "text/markdown", "buffer": old.encode()})
    expect(document(page)).to_have_value(old.replace("\r\n", "\n"))
    for asked in (old, new.replace("two", "twoo\r\n!")):
        editor.mock.will_stream(changes(old, new), FINISHED)
        page.get_by_role("button", name="Rewrite document").click()
        done(page)
        assert editor.mock.bodies()[-1]["state"]["documentBaseline"] == asked
        if asked == old:
            page.get_by_role("button", name="Accept all").click()
            document(page).evaluate("field => field.setSelectionRange(12, 12)")
            document(page).press("End")
            document(page).press_sequentially("o\n!")


def test_a_large_document(editor: Watched) -> None:
    """200,000 characters with thousands of changes: the first cards at once, more on demand, all of them accepted in one go."""
    old = "".join(f"line {i} of a document 🎉\n" for i in range(8_000))
    new = old.replace("5 ", "five ")
    page = editor.open("#writer")
    page.get_by_label("Open a document").set_input_files({"name": "a.md", "mimeType": "text/markdown", "buffer": old.encode()})
    editor.mock.will_stream(changes(old, new), FINISHED)
    page.get_by_role("button", name="Rewrite document").click()
    cards = page.locator(".suggestion")
    expect(cards).to_have_count(50)
    page.get_by_role("button", name="Show 50 more").click()
    expect(cards).to_have_count(100)
    page.get_by_role("button", name="Accept all").click()
    expect(cards).to_have_count(0)
    assert document(page).input_value() == new


def test_editor_chat(editor: Watched) -> None:
    """A message goes with the document; what it is can be forced; a selection is a focus, not rewritten in place."""
    page = editor.open("#editorChat")
    expect(page.get_by_role("button", name="Rewrite selection")).to_have_count(0)
    document(page).fill("one")
    for choice, sent in (("Decide by itself", {}), ("Only answer", {"forceIntent": "ask"}), ("Always rewrite", {"forceIntent": "write"})):
        page.get_by_label("What a message is").select_option(choice)
        editor.mock.will_stream(*text(f"a{choice}", "answer"), FINISHED)
        editor.send("well?")
        expect(page.locator(".assistant").last).to_contain_text("answer")
        done(page)
        state: dict[str, Any] = editor.mock.bodies()[-1]["state"]
        assert state == {"editCase": "document", "documentBaseline": "one", **sent}
    editor.mock.will_stream(changes("one", "two"), FINISHED)
    page.get_by_role("button", name="Rewrite document").click()
    expect(page.locator(".suggestion")).to_have_count(1)


def test_what_an_agent_writes_is_text(editor: Watched) -> None:
    """Markup in a note, a change or a rewrite stays text."""
    markup = "<img src=x onerror=alert(1)>"
    page = editor.open("#writer")
    document(page).fill("one\n")
    event = changes("one\n", f"{markup}\n")
    event["value"]["changes"][0]["summary"] = markup
    editor.mock.will_stream(event, FINISHED)
    page.get_by_role("button", name="Rewrite document").click()
    expect(page.locator(".suggestion ins")).to_contain_text(markup)
    expect(page.locator(".suggestion strong")).to_have_text(markup)
    expect(page.locator(".panel img")).to_have_count(0)


@pytest.fixture
def phone(browser: Browser, writers: tuple[Mock, str]) -> Iterator[Watched]:
    """The editor on a small phone."""
    mock, address = writers
    page = tab(browser, viewport={"width": 360, "height": 700}, is_mobile=True, has_touch=True)
    with watched_page(page, mock, address) as one:
        yield one
    page.context.close()


def test_on_a_phone(phone: Watched) -> None:
    """Nothing is wider than the screen; the panel folds away and leaves the conversation; a change is accepted with a finger."""
    long = "x" * 300
    page = suggested(phone, f"{long}\n", f"y{long}\n")
    fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#panel').scrollWidth <= innerWidth"
    assert page.evaluate(fits)
    page.locator(".suggestion").get_by_role("button", name="Accept").tap()
    expect(document(page)).to_have_value(f"y{long}\n")
    select(page, 0, 200)
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert page.evaluate(fits)
    page.get_by_role("button", name="Document", exact=True).tap()
    expect(document(page)).to_be_hidden()
    assert page.locator("#panel").evaluate("panel => panel.offsetHeight") < 120
