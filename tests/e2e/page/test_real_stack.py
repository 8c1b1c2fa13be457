"""The page with the real stack behind it: store, workers, function URLs, as `agents dev` starts them."""

from __future__ import annotations

import hashlib
import re

import pytest
from playwright.sync_api import Request, expect

from tests.e2e.page.conftest import Watched

pytestmark = pytest.mark.browser


def test_the_demo_by_clicking(real: Watched) -> None:
    """dev goes through select, input, select, multiSelect and approval by hand; a reload at the approval changes nothing."""
    page = real.open("#dev")
    card = page.locator(".card:visible")
    page.get_by_role("button", name="start demo").click()
    page.get_by_role("button", name="人在回路演示").click()
    card.get_by_role("textbox").fill("weekly report")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="高").click()
    card.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Send selection").click()
    expect(card.locator(".details")).to_contain_text("weekly report")
    page.reload()
    expect(card.locator(".details")).to_contain_text("weekly report")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".assistant")).to_contain_text("已批准执行")
    expect(page.locator(".status-line")).to_contain_text("Done")


def test_every_body_comes_with_its_hash(real: Watched) -> None:
    """CloudFront signs `x-amz-content-sha256` for a function URL, so the page sends it: of the run, the reload's replay and a new title,
    beyond ASCII too. A request without a body has none."""
    asked: list[Request] = []

    def heard(request: Request) -> None:
        asked.append(request)

    real.page.on("request", heard)
    page = real.open("#dev")
    real.send("你好 ✓")
    expect(page.locator(".status-line")).to_contain_text("Paused")
    page.locator(".thread-title").click()
    page.get_by_label("Title of this conversation").fill("标题")
    page.keyboard.press("Enter")
    page.reload()
    expect(page.locator(".card:visible").first).to_be_visible()
    real.page.remove_listener("request", heard)
    agents = [(one.method, one.post_data_buffer, one.headers.get("x-amz-content-sha256")) for one in asked if "/agents/" in one.url]
    bodies = [(body, sent) for _, body, sent in agents if body]
    assert [sent for _, sent in bodies] == [hashlib.sha256(body).hexdigest() for body, _ in bodies]
    assert {method for method, body, _ in agents if body} == {"POST", "PATCH"}
    assert {sent for _, body, sent in agents if not body} == {None}


def test_two_questions_in_one_turn(real: Watched) -> None:
    """reactAgent asks two things at once; each answer reaches the question it was given to, and the tools say who waits."""
    page = real.open("#reactAgent")
    real.send("ask two")
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator(".tool[data-status=waiting]")).to_have_count(2)
    for question, answer in (("What is your name?", "Ada"), ("Which city do you live in?", "Oslo")):
        page.get_by_role("group", name=question).get_by_role("textbox").fill(answer)
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Send answers").click()
    for question, answer in (("name", "Ada"), ("city", "Oslo")):
        tool = page.locator(".tool", has_text=question)
        expect(tool.get_by_role("region", name="Result", exact=True)).to_contain_text(answer)
    expect(page.locator(".status-line")).to_contain_text("Done")


def test_a_cited_answer(real: Watched) -> None:
    """reactAgent offline: thinking, a search with its result, an answer with a link; after a reload all of it is still there."""
    page = real.open("#reactAgent")
    real.send("How many days of annual leave do I have?")
    expect(page.locator(".status-line")).to_contain_text("Done")
    for _ in range(2):
        expect(page.locator(".tool[data-status=done]")).to_contain_text("kb_search")
        expect(page.locator(".assistant .prose a").last).to_have_attribute("href", "/kb?doc=leave-policy-en&chunk=1")
        expect(page.locator(".thinking").first).to_be_visible()
        page.reload()


@pytest.mark.long
def test_the_editor_by_clicking(real: Watched) -> None:
    """writer offline: a document with several changes, all taken, nothing left to change after a reload (so in any process), a selection
    rewritten in place; editorChat talks about a document and rewrites it."""
    page = real.open("#writer")
    document, cards = page.get_by_role("textbox", name="Document"), page.locator(".suggestion")
    page.get_by_role("button", name="Sample").click()
    page.get_by_role("button", name="Rewrite document").click()
    expect(cards).to_have_count(4)
    expect(page.locator(".thinking")).to_be_visible()
    page.get_by_role("button", name="Accept all").click()
    expect(document).to_have_value(re.compile("使用 Python 写了 3 个脚本，[^\0]*with the new layout.\n$"))
    page.reload()
    page.get_by_role("button", name="Rewrite document").click()
    expect(page.locator(".suggestion-head")).to_contain_text("Nothing to change")
    document.fill("其实很好,可以用")
    document.evaluate("field => field.setSelectionRange(0, 5)")
    page.get_by_role("button", name="Rewrite selection").click()
    page.get_by_role("region", name="Rewrite of the selection").get_by_role("button", name="Accept").click()
    expect(document).to_have_value(re.compile("^很好[,，]可以用$"))
    page.get_by_role("link", name="Editor chat").click()
    document.fill("其实很好,可以用\n")
    real.send("为什么不好？")
    expect(page.locator(".assistant")).to_contain_text("第 1 行：统一全角标点")
    real.send("帮我弄好")
    expect(cards).to_have_count(1)
