"""Every kind of question, answered by hand; what the server then receives is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page.conftest import Watched
from tests.support.page_events import FINISHED, asks, interrupt, text

pytestmark = pytest.mark.browser

OPTIONS = [{"label": "Low", "value": "low"}, {"label": "High", "value": "high", "description": "at once"}]
INPUT = interrupt("i1", "input", message="Purpose?", placeholder="e.g. report")
SELECT = interrupt("i1", "select", message="Priority?", options=OPTIONS)
MULTI = interrupt("i1", "multiSelect", message="Extras?", options=OPTIONS)
MODAL = interrupt("i1", "modal", title="Overwrite?", body="It is **newer**.", actions=["Overwrite", "Keep both"])
APPROVAL = interrupt("i1", "approval", message="Run it?", details={"purpose": "report", "extras": ["audit"]})
UNLOCK = interrupt("i1", "unlock", message="It is locked.", key="doc/1")
FOREIGN = {
    "id": "i1",
    "reason": "colour",
    "message": "Which colour?",
    "metadata": {"type": "colour"},
    "responseSchema": {
        "$defs": {"Cancelled": {"properties": {"cancelled": {"const": True}}}, "Colour": {"properties": {"hex": {"type": "string"}}}},
        "anyOf": [{"$ref": "#/$defs/Cancelled"}, {"$ref": "#/$defs/Colour"}],
    },
}


def _button(name: str) -> Callable[[Page], None]:
    return lambda page: page.locator(".card").get_by_role("button", name=name, exact=True).click()


def _fill(label: str, value: str, *then: Callable[[Page], None]) -> Callable[[Page], None]:
    def do(page: Page) -> None:
        page.locator(".card").get_by_label(label).fill(value)
        for step in then:
            step(page)

    return do


def _check(*labels: str) -> Callable[[Page], None]:
    def do(page: Page) -> None:
        for label in labels:
            page.get_by_role("checkbox", name=label).check()
        _button("Send selection")(page)

    return do


def _reject(reason: str) -> Callable[[Page], None]:
    def do(page: Page) -> None:
        _button("Reject…")(page)
        _fill("Reason for rejecting", reason, _button("Reject"))(page)

    return do


def _enter(page: Page) -> None:
    page.keyboard.press("Enter")


KINDS: dict[str, tuple[dict[str, Any], Callable[[Page], None], Any]] = {
    "input": (INPUT, _fill("Purpose?", "weekly report", _button("Send")), {"value": "weekly report"}),
    "input, Enter": (INPUT, _fill("Purpose?", "weekly", _enter), {"value": "weekly"}),
    "input, empty": (INPUT, _button("Send"), {"value": ""}),
    "select": (SELECT, lambda page: page.get_by_role("button", name="High at once").click(), {"value": "high"}),
    "select, free text": (SELECT, _fill("Something else…", "urgent", _enter), {"value": "urgent"}),
    "multiSelect": (MULTI, _check("Low", "High at once"), {"values": ["low", "high"]}),
    "multiSelect, none": (MULTI, _check(), {"values": []}),
    "multiSelect, free text": (MULTI, _fill("Add something else…", "email", _enter, _check("Low")), {"values": ["low", "email"]}),
    "multiSelect, typed but not added": (MULTI, _fill("Add something else…", "fax", _check()), {"values": ["fax"]}),
    "modal": (MODAL, _button("Keep both"), {"action": "Keep both"}),
    "approve": (APPROVAL, _button("Approve"), {"approved": True}),
    "reject": (APPROVAL, _reject("too early"), {"approved": False, "reason": "too early"}),
    "reject, no reason": (APPROVAL, _reject(""), {"approved": False}),
    "unlock": (UNLOCK, _button("Unlock"), {}),
    "unknown kind": (FOREIGN, _fill("Answer as JSON", '{"hex": "#fff"}', _button("Send answer")), {"hex": "#fff"}),
}


def _asked(watched: Watched, *interrupts: dict[str, Any]) -> Page:
    page = watched.open()
    watched.mock.will_stream(asks(*interrupts))
    watched.send("start demo")
    expect(page.locator(".card")).to_have_count(len(interrupts))
    return page


@pytest.mark.parametrize("kind", KINDS)
def test_answer(watched: Watched, kind: str) -> None:
    """A kind's card sends exactly the answer its schema asks for, and the conversation goes on."""
    question, act, payload = KINDS[kind]
    page = _asked(watched, question)
    watched.mock.will_stream(*text("a1", "thank you"), FINISHED)
    act(page)
    expect(page.locator(".assistant")).to_have_text("thank you")
    expect(page.locator(".card")).to_be_hidden()
    first, second = watched.mock.bodies()
    assert second["resume"] == [{"interruptId": "i1", "status": "resolved", "payload": payload}]
    assert second["threadId"] == first["threadId"]
    assert second["messages"] == first["messages"]


def test_cancel(watched: Watched) -> None:
    """Every card can be cancelled, which is an answer without a payload."""
    page = watched.open()
    for question in (INPUT, SELECT, MULTI, MODAL, APPROVAL, UNLOCK, FOREIGN):
        watched.mock.will_stream(asks(question))
        watched.send("go")
        expect(page.locator(".card")).to_be_visible()
        watched.mock.will_stream(FINISHED)
        _button("Cancel")(page)
        expect(page.locator(".status-line")).to_contain_text("Done")
        assert watched.mock.bodies()[-1]["resume"] == [{"interruptId": "i1", "status": "cancelled"}]


def test_unknown_kind_shows_what_to_write(watched: Watched) -> None:
    """The JSON card is prefilled from the schema's answer, not from its refusal, and says when the text is not JSON."""
    page = _asked(watched, FOREIGN)
    field = page.get_by_label("Answer as JSON")
    expect(field).to_have_value('{\n  "hex": ""\n}')
    field.fill("{oops")
    _button("Send answer")(page)
    expect(page.locator(".card [role=alert]")).to_contain_text("Not JSON")
    assert len(watched.mock.bodies()) == 1


def test_approval_lists_its_details(watched: Watched) -> None:
    """What is going to happen can be read before it is approved."""
    page = _asked(watched, APPROVAL)
    expect(page.locator(".details")).to_have_text("purposereportextrasaudit")


def test_several_questions_are_sent_together(watched: Watched) -> None:
    """Three open questions: one card each, nothing leaves before all are answered, then one resume holds an entry for every one."""
    page = _asked(watched, INPUT | {"id": "one"}, SELECT | {"id": "two"}, APPROVAL | {"id": "three"})
    send = page.get_by_role("button", name="Send answers")
    expect(page.get_by_text("0 of 3 answered")).to_be_visible()
    page.get_by_role("group", name="Run it?").get_by_role("button", name="Cancel").click()
    page.get_by_role("group", name="Priority?").get_by_role("button", name="Low").click()
    expect(send).to_be_disabled()
    page.get_by_role("group", name="Purpose?").get_by_label("Purpose?").fill("first")
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Priority?").get_by_role("button", name="Change").click()
    expect(send).to_be_disabled()
    page.get_by_role("group", name="Priority?").get_by_role("button", name="High").click()
    expect(send).to_be_focused()
    assert len(watched.mock.bodies()) == 1
    watched.mock.will_stream(FINISHED)
    send.click()
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert watched.mock.bodies()[1]["resume"] == [
        {"interruptId": "one", "status": "resolved", "payload": {"value": "first"}},
        {"interruptId": "two", "status": "resolved", "payload": {"value": "high"}},
        {"interruptId": "three", "status": "cancelled"},
    ]


def test_questions_in_a_row(watched: Watched) -> None:
    """A resumed run may ask again: the next card takes the place of the last, and what was answered stays readable."""
    page = _asked(watched, SELECT)
    watched.mock.will_stream(asks(APPROVAL | {"id": "i2"}))
    page.get_by_role("button", name="Low").click()
    expect(page.get_by_role("group", name="Run it?")).to_be_visible()
    expect(page.locator(".answer")).to_have_text("Priority?Low")
    watched.mock.will_stream(*text("a1", "已批准执行"), FINISHED)
    _button("Approve")(page)
    expect(page.locator(".assistant")).to_have_text("已批准执行")
    assert [body["resume"][0]["interruptId"] for body in watched.mock.bodies()[1:]] == ["i1", "i2"]


def test_expired_question_can_only_be_cancelled(watched: Watched) -> None:
    """After its time an answer cannot be given any more."""
    page = _asked(watched, UNLOCK | {"expiresAt": "2020-01-01T00:00:00Z"})
    expect(page.get_by_text("has expired")).to_be_visible()
    watched.mock.will_stream(FINISHED)
    page.keyboard.press("Tab")
    expect(page.locator(".card").get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert watched.mock.bodies()[1]["resume"][0]["status"] == "cancelled"


def test_no_message_while_a_question_is_open(watched: Watched) -> None:
    """The message field waits until the question is answered."""
    page = _asked(watched, INPUT)
    expect(page.get_by_role("textbox", name="Message")).to_be_disabled()


def test_approval_by_keyboard_alone(watched: Watched) -> None:
    """The card takes the focus when it appears; Tab and Enter approve, and the message field has the focus again."""
    page = watched.open()
    watched.mock.will_stream(asks(APPROVAL))
    page.keyboard.type("start demo")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Run it?")).to_be_focused()
    watched.mock.will_stream(*text("a1", "done"), FINISHED)
    for _ in range(2):  # Cancel, Approve
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".assistant")).to_have_text("done")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    assert watched.mock.bodies()[1]["resume"][0]["payload"] == {"approved": True}
