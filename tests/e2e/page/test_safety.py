"""Text of a model is text: no script of it runs, no address of it is asked, no scheme but http leads away."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.page.conftest import Watched
from tests.support.page_events import FINISHED, asks, interrupt, reasoning, text, tool_call, tool_result

pytestmark = pytest.mark.browser

EVIL = (
    '<img src=x onerror="window.bad=1"><script>window.bad=1</script> **<b onclick="window.bad=1">x</b>** '
    "[a](javascript:window.bad=1) [b](JaVa\tScript:window.bad=1) [c](data:text/html,x) "
    "![i](https://evil.example/i.png) `<svg onload=window.bad=1>`"
)


def test_model_text_runs_nothing(watched: Watched) -> None:
    """Markup in messages, thinking, tool names, arguments, results, custom events and errors is shown as it is written."""
    page = watched.open()
    watched.mock.will_stream(
        *reasoning("r1", EVIL),
        *text("a1", EVIL),
        *tool_call("c1", EVIL, {"x": EVIL}, parent="a1"),
        tool_result("c1", EVIL),
        {"type": "CUSTOM", "name": EVIL, "value": EVIL},
        {"type": "RUN_ERROR", "message": EVIL, "code": EVIL},
    )
    watched.send(EVIL)
    expect(page.get_by_role("alert")).to_contain_text("<script>")
    expect(page.locator(".assistant .prose")).to_contain_text('<img src=x onerror="window.bad=1"><script>window.bad=1</script>')
    assert page.evaluate("window.bad") is None
    assert page.locator("#messages").locator("img, script, svg:not(.icon), b").count() == 0
    hrefs = page.locator("#messages a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert set(hrefs) == {"https://evil.example/i.png"}  # a link to follow, never an image to load


def test_interrupt_text_runs_nothing(watched: Watched) -> None:
    """The same for questions, options, bodies and details."""
    page = watched.open()
    options = [{"label": EVIL, "value": "x", "description": EVIL}]
    kinds = [
        interrupt("i1", "select", message=EVIL, options=options),
        interrupt("i2", "modal", title=EVIL, body=EVIL, actions=[EVIL]),
        interrupt("i3", "approval", message=EVIL, details={EVIL: EVIL}),
    ]
    watched.mock.will_stream(asks(*kinds))
    watched.send("go")
    expect(page.locator(".card")).to_have_count(3)
    assert page.evaluate("window.bad") is None
    assert page.locator("#interrupts").locator("img, script, svg:not(.icon), b").count() == 0


def test_links_open_elsewhere(watched: Watched) -> None:
    """A link to http(s) or a relative one opens in a tab of its own that knows nothing of this page."""
    page = watched.open()
    watched.mock.will_stream(*text("a1", "[doc](/kb?doc=leave&chunk=2) and https://example.com/a_b."), FINISHED)
    watched.send("go")
    links = page.locator(".assistant a")
    expect(links).to_have_count(2)
    assert links.evaluate_all("all => all.map(a => [a.getAttribute('href'), a.target, a.rel])") == [
        ["/kb?doc=leave&chunk=2", "_blank", "noopener noreferrer"],
        ["https://example.com/a_b", "_blank", "noopener noreferrer"],
    ]


def test_policy_refuses_inline_script_and_markup(watched: Watched) -> None:
    """Even if a node were made from markup, the page's policy would refuse it: no inline script, no string into HTML."""
    page = watched.open()
    refused = page.evaluate("""() => {
        try { document.getElementById("live").innerHTML = "<b>x</b>"; } catch (error) { return error.name; }
    }""")
    page.evaluate("""() => {
        const script = document.createElement("script");
        try { script.textContent = "window.bad = 1"; } catch { return; }
        document.body.append(script);
    }""")
    assert refused == "TypeError"
    assert page.evaluate("window.bad") is None
    watched.complaints.clear()  # the policy says on the console what it refused
