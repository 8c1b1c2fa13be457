"""The editor's logic without a screen, as tables, in the browser that runs it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphs.writing.hunks import compute_hunks
from tests.e2e.page.conftest import Watched

pytestmark = pytest.mark.browser


def _call(watched: Watched, body: str, argument: Any = None) -> Any:
    """Runs an async arrow function's body with `arg` in the page; `Draft` and the line ends are there."""
    imports = 'const { Draft } = await import("./panels/editor/draft.js"); const ends = await import("./panels/editor/line_ends.js");'
    watched.page.goto(watched.address)
    return watched.page.evaluate(f"async (arg) => {{ {imports} {body} }}", argument)


def value(old: str, new: str) -> dict[str, Any]:
    """Of the event that the agent sends."""
    changes = [
        {"hintFrom": hunk.from_, "originalText": hunk.original_text, "newText": hunk.new_text, "summary": f"note {i}"}
        for i, hunk in enumerate(compute_hunks(old, new))
    ]
    return {"changes": changes, "polished": new, "baseline": old}


OFFSETS = [
    # document, offset in it, offset in the textarea
    ("ab", 1, 1),
    ("a\r\nb\r\nc", 0, 0),
    ("a\r\nb\r\nc", 1, 1),
    ("a\r\nb\r\nc", 3, 2),
    ("a\r\nb\r\nc", 7, 5),
    ("\r\r\n\nx", 4, 3),
    ("🎉\r\n🎉", 6, 5),
]


def test_offsets(watched: Watched) -> None:
    """A CRLF is one character in a textarea; everything else counts the same, in UTF-16 units."""
    body = "return arg.map(([text, at, shown]) => [ends.toShown(text, at), ends.toSource(text, shown), ends.toDisplay(text).length]);"
    seen = _call(watched, body, OFFSETS)
    assert [row[:2] for row in seen] == [[shown, at] for _, at, shown in OFFSETS]
    assert [row[2] for row in seen] == [len(text.replace("\r\n", "\n").encode("utf-16-le")) // 2 for text, *_ in OFFSETS]


EDITS = [
    ("abc", "abc", None),
    ("abc", "abXc", {"from": 2, "to": 2, "text": "X"}),
    ("abc", "ac", {"from": 1, "to": 2, "text": ""}),
    ("aaa", "aa", {"from": 2, "to": 3, "text": ""}),
    ("", "x", {"from": 0, "to": 0, "text": "x"}),
    ("one two", "ONE two", {"from": 0, "to": 3, "text": "ONE"}),
]


def test_edit_between(watched: Watched) -> None:
    """The smallest replacement that makes the one text of the other."""
    assert _call(watched, "return arg.map(([a, b]) => ends.editBetween(a, b));", [row[:2] for row in EDITS]) == [row[2] for row in EDITS]


TYPED = [
    ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
    ("a\r\nb\nc\r\n", "a\nb\nc\nd\n", "a\r\nb\nc\r\nd\r\n"),
    ("a\nb\n", "a\nb\nc", "a\nb\nc"),
    ("  a\r\n", "", ""),
    ("", "x\ny", "x\ny"),
    ("a\rb", "a\nbc", "a\rbc"),
]


def test_typing_keeps_line_ends(watched: Watched) -> None:
    """Lines that were not touched keep theirs; a new line gets what most lines have."""
    body = "return arg.map(([text, shown]) => { const draft = new Draft({ text }); draft.typed(shown); return draft.text; });"
    assert _call(watched, body, [row[:2] for row in TYPED]) == [row[2] for row in TYPED]


OLD, NEW = "one\ntwo\nthree\nfour\nfive\n", "ONE\ntwo\nTHREE\nfour\nfive\nsix\n"


def test_offer(watched: Watched) -> None:
    """EDITOR_BUSY while a selection is rewritten, BASELINE_STALE for another text, else a suggestion for each change."""
    body = """
        const take = (draft, value) => [draft.offer(value), draft.suggestions];
        const busy = new Draft({ text: arg.baseline });
        busy.startInline(0, 3);
        return [take(busy, arg), take(new Draft({ text: arg.baseline + " " }), arg), take(new Draft({ text: arg.baseline }), arg)];"""
    busy, stale, taken = _call(watched, body, value(OLD, NEW))
    assert (busy, stale, taken[0]) == (["EDITOR_BUSY", []], ["BASELINE_STALE", []], None)
    first = {
        "sid": "0:one\n",
        "summary": "note 0",
        "originalText": "one\n",
        "newText": "ONE\n",
        "from": 0,
        "to": 4,
        "gone": False,
        "stale": False,
    }
    assert taken[1][0] == first
    assert [one["sid"] for one in taken[1]] == ["0:one\n", "8:three\n", "24:"]


STEPS: dict[str, tuple[list[list[Any]], str, list[str]]] = {
    # what is done, the text then, the suggestions left (with ! where stale)
    "accept moves those behind": ([["accept", "0:one\n"]], "ONE\ntwo\nthree\nfour\nfive\n", ["8:three\n", "24:"]),
    "accept all": ([["acceptAll"]], NEW, []),
    "reject changes nothing": ([["reject", "0:one\n"]], OLD, ["8:three\n", "24:"]),
    "typing before moves them": ([["typed", "00one\n" + OLD[4:]], ["acceptAll"]], "00ONE\ntwo\nTHREE\nfour\nfive\nsix\n", []),
    "typing in one makes it stale": ([["typed", OLD.replace("ree", "r")]], OLD.replace("ree", "r"), ["0:one\n", "8:three\n!", "24:"]),
    "undoing that makes it fresh": (
        [["typed", OLD.replace("ree", "r")], ["typed", OLD], ["accept", "8:three\n"]],
        OLD.replace("three", "THREE"),
        ["0:one\n", "24:"],
    ),
    "a stale one is not accepted": (
        [["typed", OLD.replace("ree", "r")], ["accept", "8:three\n"]],
        OLD.replace("ree", "r"),
        ["0:one\n", "8:three\n!", "24:"],
    ),
    "a place within a line is stale": (
        [["typed", "one\ntwo\nthree\nfour\nf"]],
        "one\ntwo\nthree\nfour\nf",
        ["0:one\n", "8:three\n", "24:!"],
    ),
    "a place that comes back is fresh": ([["typed", "one\ntwo\nthree\nfour\nf"], ["typed", OLD], ["acceptAll"]], NEW, []),
    "deleted, they are stale": ([["typed", "one\n"]], "one\n", ["0:one\n", "8:three\n!", "24:"]),
    "deleted and brought back they are fresh": ([["typed", "one\n"], ["typed", OLD], ["acceptAll"]], NEW, []),
    "so are all of them, deleted piece by piece": (
        [["typed", OLD[:7]], ["typed", OLD[:2]], ["typed", ""], ["typed", OLD], ["acceptAll"]],
        NEW,
        [],
    ),
    "and those that an acceptance left": (
        [["accept", "0:one\n"], ["typed", ""], ["typed", "ONE\n" + OLD[4:]], ["acceptAll"]],
        NEW,
        [],
    ),
    "and those behind what was typed": ([["typed", "0" + OLD], ["typed", ""], ["typed", "0" + OLD], ["acceptAll"]], "0" + NEW, []),
    "a rejected one does not come back": (
        [["typed", ""], ["reject", "8:three\n"], ["typed", OLD]],
        OLD,
        ["0:one\n", "24:"],
    ),
    "after an undo too": ([["acceptAll"], ["undo"], ["typed", ""], ["typed", OLD], ["acceptAll"]], NEW, []),
    "another line in a place that was deleted stays stale": (
        [["typed", "one\n"], ["typed", "one\nTWO\nTHREE\n"]],
        "one\nTWO\nTHREE\n",
        ["0:one\n", "8:three\n!", "24:"],
    ),
    "typing between leaves both": ([["typed", OLD.replace("two", "twoo")], ["acceptAll"]], NEW.replace("two", "twoo"), []),
    "undo": ([["acceptAll"], ["undo"]], OLD, ["0:one\n", "8:three\n", "24:"]),
    "undo twice": ([["accept", "0:one\n"], ["accept", "8:three\n"], ["undo"], ["undo"]], OLD, ["0:one\n", "8:three\n", "24:"]),
    "no undo over what was typed": ([["acceptAll"], ["typed", NEW + "x"], ["undo"]], NEW + "x", []),
    "an unknown one": ([["accept", "9:nothing"]], OLD, ["0:one\n", "8:three\n", "24:"]),
    "nothing while a selection is rewritten": (
        [["startInline", 4, 7], ["accept", "0:one\n"], ["acceptAll"]],
        OLD,
        ["0:one\n", "8:three\n", "24:"],
    ),
    "another document": ([["replace", "x"]], "x", []),
}


def test_steps(watched: Watched) -> None:
    """Accept, reject, accept all, undo; what is typed meanwhile moves suggestions, or makes them stale."""
    body = """
        return arg.steps.map((steps) => {
            const draft = new Draft({ text: arg.value.baseline });
            draft.offer(arg.value);
            for (const [name, ...given] of steps) draft[name](...given);
            return [draft.text, draft.suggestions.map(({ sid, stale }) => sid + (stale ? "!" : ""))];
        });"""
    seen = _call(watched, body, {"value": value(OLD, NEW), "steps": [steps for steps, *_ in STEPS.values()]})
    assert dict(zip(STEPS, seen, strict=True)) == {claim: [text, left] for claim, (_, text, left) in STEPS.items()}


def test_any_order_makes_the_new_text(watched: Watched) -> None:
    """Changes that the agent finds, accepted at once or one by one in any order, give its text: outer blanks, CRLF, emoji."""
    rnd = random.Random(11)
    lines = ["\n", "a\n", "b\r\n", "你好\n", "🎉🎉\n", "  \n", "a", "\r\n"]
    pairs = [tuple("".join(rnd.choices(lines, k=rnd.randrange(12))) for _ in range(2)) for _ in range(300)]
    body = """
        return arg.map(([value, order]) => {
            const [all, each] = [new Draft({ text: value.baseline }), new Draft({ text: value.baseline })];
            all.offer(value);
            all.acceptAll();
            each.offer(value);
            for (const at of order) each.accept(each.suggestions[at % each.suggestions.length].sid);
            return [all.text, each.text, each.suggestions.length];
        });"""
    values = [value(*pair) for pair in pairs]
    orders = [[rnd.randrange(99) for _ in one["changes"]] for one in values]
    seen = _call(watched, body, list(zip(values, orders, strict=True)))
    assert seen == [[new, new, 0] for _, new in pairs]


INLINE = [
    # document, selection in the textarea, the agent's text, the document then
    ("one two three", (4, 7), "2", "one 2 three"),
    ("one two three", (3, 8), "2", "one 2 three"),
    ("a\r\nb\r\nc\r\n", (2, 5), "x\ny", "a\r\nx\r\ny\r\n"),
    ("🎉 old", (3, 6), "new", "🎉 new"),
    ("a\n\nb", (0, 2), "A", "A\n\nb"),
]


def test_a_selection(watched: Watched) -> None:
    """The rewrite takes its place between the blanks around it, with the document's line ends; blank selections are none."""
    body = """
        return arg.map(([text, [from, to], said]) => {
            const draft = new Draft({ text });
            const sent = draft.startInline(from, to);
            const again = draft.startInline(from, to);
            draft.inline.newText = said;
            const code = draft.acceptInline();
            const after = draft.text;
            draft.undo();
            return [after, sent.length > 0, again, code, draft.text === text, draft.startInline(0, 0), draft.inline];
        });"""
    assert _call(watched, body, [row[:3] for row in INLINE]) == [[row[3], True, "", None, True, "", None] for row in INLINE]


def test_a_selection_that_has_changed(watched: Watched) -> None:
    """It is not replaced; discarded, the document is as it was."""
    body = """
        const draft = new Draft({ text: "one two" });
        draft.startInline(0, 3);
        draft.text = "On two";
        const code = draft.acceptInline();
        draft.discardInline();
        return [code, draft.text, draft.inline];"""
    assert _call(watched, body) == ["STALE", "On two", None]


def test_kept_documents(watched: Watched) -> None:
    """The oldest give way when there is no room; one too large for it is told and costs no other; what others wrote is no document."""
    body = """
        const kept = await import("./panels/editor/kept.js");
        const thread = (threadId) => ({ agent: "writer", threadId });
        const text = "x".repeat(1_000_000);
        localStorage.setItem("document:writer/odd", "{");
        const wrote = [];
        for (const id of "abcdefg") {
            wrote.push(kept.write(thread(id), { text }));
            await new Promise((done) => setTimeout(done, 2));
        }
        const there = [..."abcdefg"].filter((id) => kept.read(thread(id))?.text.length === text.length).join("");
        return [wrote.every(Boolean), there.includes("a"), there.endsWith("fg"), kept.read(thread("odd")),
            kept.write(thread("h"), { text: "y".repeat(20_000_000) }),
            kept.write(thread("g"), { text: "y".repeat(20_000_000) }),
            [..."abcdefg"].filter((id) => kept.read(thread(id))?.text === text).join("") === there];"""
    assert _call(watched, body) == [True, False, True, None, False, False, True]
