"""A conversation: text, thinking and tools as they come, threads that survive a reload, stop, the events pane."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.page.conftest import Watched
from tests.support.page_events import FINISHED, asks, interrupt, reasoning, saved, text, tool_call, tool_result
from tests.support.page_mock import Gate

pytestmark = pytest.mark.browser


def test_text_grows_while_it_streams(watched: Watched) -> None:
    """The first words are on the screen while the rest is still on its way, and the whole text is there at the end."""
    page = watched.open()
    events, gate = text("a1", "one two three four"), Gate()
    watched.mock.will_stream(*events[:5], gate, *events[5:], FINISHED)
    watched.send("hello")
    answer = page.locator(".assistant .prose")
    expect(answer).to_have_text("one two")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    gate.set()
    expect(answer).to_have_text("one two three four")
    expect(page.locator(".status-line")).to_contain_text("Done")


def test_what_a_run_sends(watched: Watched) -> None:
    """The body is a RunAgentInput that declares protocol 1.0; the second run carries the history, under the ids it was streamed with."""
    watched.open()
    watched.mock.will_stream(*text("a1", "hi"), {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}, FINISHED)
    watched.mock.will_stream(FINISHED)
    watched.send("hello")
    expect(watched.page.locator(".status-line")).to_contain_text("Done")
    watched.send("again")
    expect(watched.page.locator(".user")).to_have_count(2)
    expect(watched.page.locator(".status-line")).to_contain_text("Done")
    first, second = watched.mock.bodies()
    assert first.keys() == {"protocolVersion", "threadId", "runId", "messages", "state", "tools", "context", "forwardedProps"}
    assert (first["protocolVersion"], first["state"], second["state"]) == ("1.0", {}, {"n": 1})
    assert first["threadId"] == second["threadId"]
    assert first["runId"] != second["runId"]
    assert [(m["role"], m["content"]) for m in second["messages"]] == [("user", "hello"), ("assistant", "hi"), ("user", "again")]
    assert second["messages"][0] == first["messages"][0]
    assert second["messages"][1]["id"] == "a1"


def test_thinking_and_tools_are_shown(watched: Watched) -> None:
    """Thinking streams into a block of its own; a tool's arguments grow, then its result stands under them."""
    page = watched.open()
    thinking, call = reasoning("r1", "let me look"), tool_call("c1", "kb_search", {"query": "annual leave"}, parent="a1")
    gates = [Gate(), Gate(), Gate()]
    watched.mock.will_stream(*thinking[:3], gates[0], *thinking[3:], *call[:3], gates[1], *call[3:], gates[2],
                             tool_result("c1", "15 days"), *text("a2", "15."), FINISHED)  # fmt: skip
    watched.send("how many days?")
    expect(page.locator(".thinking.growing")).to_contain_text("let")
    gates[0].set()
    expect(page.locator(".tool-status")).to_have_text("writing arguments")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text('"que')
    gates[1].set()
    expect(page.locator(".tool-status")).to_have_text("running")
    gates[2].set()
    expect(page.locator(".tool-status")).to_have_text("done")
    expect(page.get_by_role("region", name="Arguments")).to_have_text('{ "query": "annual leave" }')
    expect(page.get_by_role("region", name="Result", exact=True)).to_have_text("15 days")
    expect(page.locator(".thinking-text")).to_have_text("let me look")
    page.get_by_text("Thought for").click()
    expect(page.locator(".thinking-text")).to_be_hidden()


def test_a_failed_tool_says_so(watched: Watched) -> None:
    """A result marked as an error is shown as one."""
    page = watched.open()
    watched.mock.will_stream(*tool_call("c1", "order", {}, parent="a1"), tool_result("c1", "no such order", error=True), FINISHED)
    watched.send("go")
    expect(page.locator(".tool[data-status=failed]")).to_contain_text("no such order")


def test_reload_reads_the_thread_back(watched: Watched) -> None:
    """After a reload the page asks /connect for the same thread and shows its messages and its open question."""
    page = watched.open()
    watched.mock.will_stream(*text("a1", "first answer"), FINISHED)
    watched.send("hello")
    expect(page.locator(".status-line")).to_contain_text("Done")
    thread = watched.mock.bodies()[0]["threadId"]
    user = {"id": "u1", "role": "user", "content": "hello"}
    watched.mock.will_replay(
        saved(user, {"id": "a1", "role": "assistant", "content": "kept answer"}), asks(interrupt("i1", "input", message="Name?"))
    )
    page.reload()
    expect(page.locator(".assistant")).to_have_text("kept answer")
    expect(page.get_by_role("group", name="Name?")).to_be_visible()
    assert watched.mock.bodies("connect")[0]["threadId"] == thread
    assert page.url.endswith(f"#dev/{thread}")


def test_new_thread_starts_empty(watched: Watched) -> None:
    """New thread clears the screen, and the next message goes to another thread id."""
    page = watched.open()
    for _ in range(2):
        watched.mock.will_stream(*text("a1", "an answer"), FINISHED)
        watched.send("hello")
        expect(page.locator(".status-line")).to_contain_text("Done")
        page.get_by_role("button", name="New thread").click()
        expect(page.locator(".assistant")).to_have_count(0)
        expect(page.get_by_role("list", name="Suggested messages")).to_be_visible()
    first, second = watched.mock.bodies()
    assert first["threadId"] != second["threadId"]


def test_agents_keep_their_own_threads(watched: Watched) -> None:
    """Going to another agent and back reads the first agent's thread back; the offline agent carries its badge."""
    page = watched.open("#dev")
    expect(page.locator(".topbar .badge")).to_have_count(0)
    watched.mock.will_stream(*text("a1", "demo answer"), FINISHED)
    watched.send("start demo")
    expect(page.locator(".status-line")).to_contain_text("Done")
    page.get_by_role("link", name="Assistant").click()
    expect(page.locator(".topbar .badge")).to_have_text("offline model")
    expect(page.locator(".assistant")).to_have_count(0)
    watched.mock.will_replay(saved({"id": "a1", "role": "assistant", "content": "demo answer"}), FINISHED)
    page.get_by_role("link", name="Demo").click()
    expect(page.locator(".assistant")).to_have_text("demo answer")


def test_suggested_prompt_is_sent(watched: Watched) -> None:
    """One click on a suggestion sends it."""
    page = watched.open()
    watched.mock.will_stream(FINISHED)
    page.get_by_role("button", name="start demo").click()
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert watched.mock.bodies()[0]["messages"][0]["content"] == "start demo"


def test_stop_leaves_the_stream(watched: Watched) -> None:
    """Escape, where the server knows no stop: it sees the client go, what was said stays, and the next message can be sent."""
    page = watched.open()
    watched.mock.will_stream(*text("a1", "a long answer"), Gate(), FINISHED)
    watched.send("hello")
    expect(page.locator(".assistant")).to_contain_text("a long answer")
    watched.may_fail = True  # the server knows no stop
    page.keyboard.press("Escape")
    expect(page.get_by_text("You stopped listening")).to_be_visible()
    expect(page.locator(".assistant")).to_contain_text("a long answer")
    watched.wait_until(lambda: watched.mock.left == 1)
    watched.mock.will_stream(*text("a2", "second"), FINISHED)
    watched.send("go on")
    expect(page.locator(".assistant").last).to_contain_text("second")


def test_shift_enter_breaks_the_line(watched: Watched) -> None:
    """Shift+Enter writes a second line, Enter sends both."""
    page = watched.open()
    watched.mock.will_stream(FINISHED)
    field = page.get_by_role("textbox", name="Message")
    field.press_sequentially("one")
    field.press("Shift+Enter")
    field.press_sequentially("two")
    field.press("Enter")
    expect(page.locator(".bubble")).to_have_text("one\ntwo", use_inner_text=True)
    assert watched.mock.bodies()[0]["messages"][0]["content"] == "one\ntwo"


def test_events_pane(watched: Watched) -> None:
    """Every event is listed with its time; the filter narrows, a click shows the JSON, the state has its own tab."""
    page = watched.open()
    watched.mock.will_stream(*text("a1", "one two"), {"type": "STATE_SNAPSHOT", "snapshot": {"city": "Oslo"}}, FINISHED)
    watched.send("hello")
    rows = page.locator(".event-row")
    expect(rows).to_have_count(7)
    expect(rows.first).to_contain_text("ms")
    page.get_by_label("deltas").uncheck()
    expect(rows).to_have_count(5)
    page.get_by_label("Filter events").fill("oslo")
    expect(rows).to_have_count(1)
    rows.locator(".event-head").click()
    expect(page.locator(".event-json pre")).to_contain_text('"city": "Oslo"')
    page.get_by_role("tab", name="State").click()
    expect(page.locator(".state-json")).to_contain_text('"city": "Oslo"')


def test_screen_reader_hears_whole_messages(watched: Watched) -> None:
    """The live region holds the finished answer, never a part of it."""
    page = watched.open()
    watched.mock.will_stream(*text("a1", "the whole answer", pause=0.02), FINISHED)
    page.evaluate("""() => {
        window.heard = [];
        new MutationObserver(() => window.heard.push(document.getElementById("live").textContent))
            .observe(document.getElementById("live"), {childList: true});
    }""")
    watched.send("hello")
    expect(page.locator(".status-line")).to_contain_text("Done")
    assert page.evaluate("window.heard") == ["the whole answer"]
