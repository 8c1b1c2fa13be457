"""An agent whose `auth` in config.json is `jwt`: the page asks for a token, keeps it for the tab, and sends it to that agent alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.e2e.page.conftest import AGENTS, Watched
from tests.support.page_events import FINISHED, text

pytestmark = pytest.mark.browser


def _with_tokens(watched: Watched) -> list[tuple[str, str | None]]:
    """`dev` asks for tokens → (agent, authorization) of each request."""
    sent: list[tuple[str, str | None]] = []
    agents = [agent | ({"auth": "jwt"} if agent["name"] == "dev" else {}) for agent in AGENTS]

    def note(route: Route, request: Request) -> None:
        sent.append((request.url.split("/agents/")[1].split("/")[0], request.header_value("authorization")))
        route.continue_()

    watched.page.route("**/config.json", lambda route: route.fulfill(json={"agents": agents}))
    watched.page.route("**/agents/**", note)
    return sent


def _token(page: Page) -> str | None:
    found: str | None = page.evaluate("sessionStorage.getItem('token')")
    return found


def test_the_token_is_sent_to_the_agent_that_asks_for_it(watched: Watched) -> None:
    """A pasted header is understood, the field hides what is in it, a reload keeps it, an emptied field forgets it."""
    sent = _with_tokens(watched)
    page = watched.open("#dev")
    field = page.get_by_label("Access token")
    expect(field).to_have_attribute("type", "password")
    field.fill("  Bearer a.b.c ")
    watched.may_fail = True  # another token connects, and the thread is a new one
    field.press("Tab")
    watched.mock.will_stream(*text("a1", "hi"), FINISHED)
    watched.send("hello")
    expect(page.locator(".assistant")).to_have_text("hi")
    page.reload()
    expect(field).to_have_value("a.b.c")
    field.fill("")
    field.press("Tab")
    watched.wait_until(lambda: _token(page) is None)
    assert {authorization for name, authorization in sent if name == "dev"} >= {"Bearer a.b.c"}
    assert all(name == "dev" for name, _ in sent)


def test_other_agents_get_no_token(watched: Watched) -> None:
    """They have no field, and what is kept for another agent is not sent to them."""
    sent = _with_tokens(watched)
    page = watched.open("#dev")
    page.evaluate("sessionStorage.setItem('token', 'a.b.c')")
    page.goto(f"{watched.address}#reactAgent")
    expect(page.get_by_label("Access token")).to_be_hidden()
    watched.mock.will_stream(*text("a1", "hi"), FINISHED)
    watched.send("hello")
    expect(page.locator(".assistant")).to_have_text("hi")
    assert {authorization for name, authorization in sent if name == "reactAgent"} == {None}


def test_a_refused_token_says_where_to_put_another(watched: Watched) -> None:
    """401: the server's words, the code, and the field."""
    watched.may_fail = True
    _with_tokens(watched)
    page = watched.open("#dev")
    watched.mock.will_refuse(401, "TOKEN_EXPIRED", "The token has expired. Get a new one.")
    watched.send("hello")
    notice = page.get_by_role("alert")
    for words in ("The token has expired", "HTTP 401 · TOKEN_EXPIRED", "access token"):
        expect(notice).to_contain_text(words)
