"""The page's modules by themselves, as tables, in the browser that runs them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.page.conftest import Watched

pytestmark = pytest.mark.browser


def _call(watched: Watched, body: str, argument: Any = None) -> Any:
    """Runs an async arrow function's body with `arg` in the page."""
    watched.page.goto(watched.address)
    return watched.page.evaluate(f"async (arg) => {{ {body} }}", argument)


SSE = {
    "one frame a chunk": (['data: {"n":1}\n\n', 'data: {"n":2}\n\n'], [1, 2]),
    "two frames in a chunk": (['data: {"n":1}\n\ndata: {"n":2}\n\n'], [1, 2]),
    "cut anywhere": (list('data: {"n":1}\n\ndata: {"n":2}\n\n'), [1, 2]),
    "comments and other fields": ([": hi\n\n", ":\n\nid: 7\nevent: x\ndata:", '{"n":1}\n\n'], [1]),
    "several data lines": (['data: {"n":\ndata: 1}\n\n'], [1]),
    "CRLF": (['data: {"n":1}\r\n\r\ndata: {"n":2}\r\n\r\n'], [1, 2]),
    "no blank line at the end": (['data: {"n":1}\n\ndata: {"n":2}'], [1, 2]),
    "nothing": ([], []),
    "cut inside a frame": (['data: {"n":1}\n\ndata: {"n"'], [1, "SyntaxError"]),
}


def test_sse(watched: Watched) -> None:
    """Frames are found whatever the chunk boundaries; a cut frame throws after the whole ones came through."""
    body = """
        const { readEvents } = await import("./sse.js");
        const bytes = new TextEncoder();
        return Promise.all(arg.map(async chunks => {
            const stream = new ReadableStream({ start(c) { chunks.forEach(one => c.enqueue(bytes.encode(one))); c.close(); } });
            const seen = [];
            try { for await (const event of readEvents(stream)) seen.push(event.n); } catch (error) { seen.push(error.name); }
            return seen;
        }));"""
    seen = _call(watched, body, [chunks for chunks, _ in SSE.values()])
    assert dict(zip(SSE, seen, strict=True)) == {case: expected for case, (_, expected) in SSE.items()}


PATCHES: list[tuple[Any, list[dict[str, Any]], Any]] = [
    ({}, [{"op": "add", "path": "/a", "value": 1}], {"a": 1}),
    ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}, {"op": "add", "path": "/a/-", "value": 4}], {"a": [1, 2, 3, 4]}),
    ({"a": {"b~/": 1}}, [{"op": "replace", "path": "/a/b~0~1", "value": 2}], {"a": {"b~/": 2}}),
    ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
    ({"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}, {"op": "copy", "from": "/b", "path": "/c"}], {"b": 1, "c": 1}),
    ({"a": 1}, [{"op": "test", "path": "/a", "value": 1}, {"op": "replace", "path": "", "value": 7}], 7),
    ({"a": 1}, [{"op": "test", "path": "/a", "value": 2}], "RangeError"),
    ({"a": 1}, [{"op": "remove", "path": "/x"}], "RangeError"),
    ({"a": 1}, [{"op": "add", "path": "/x/y", "value": 1}], "RangeError"),
    ({"a": 1}, [{"op": "explode", "path": "/a"}], "RangeError"),
    ({}, [{"op": "add", "path": "/__proto__/polluted", "value": 1}], "RangeError"),
]


def test_patch(watched: Watched) -> None:
    """RFC 6902, on a copy; what does not fit throws and no prototype is ever touched."""
    body = """
        const { applyPatch } = await import("./patch.js");
        return arg.map(([doc, ops]) => { try { return applyPatch(doc, ops); } catch (error) { return error.name; } });"""
    assert _call(watched, body, [row[:2] for row in PATCHES]) == [row[2] for row in PATCHES]


U = {"id": "u", "role": "user", "content": "q"}
A = {"id": "a", "role": "assistant", "content": "x"}
R = {"id": "r", "role": "reasoning", "content": "hm"}
SNAPSHOTS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]] = {
    "same id is replaced in place": ([U, A], [{**A, "content": "new"}, U], ["q", "new"]),
    "a new id is appended": ([U], [U, A], ["q", "x"]),
    "an absent id is dropped": ([U, A], [A], ["x"]),
    "an empty snapshot wipes": ([U, A], [], []),
    "reasoning stays unless the snapshot carries any": ([U, R, A], [U, A], ["q", "hm", "x"]),
    "… and goes when it does": ([U, R, A], [U, {**R, "id": "r2"}, A], ["q", "x", "hm"]),
}


def test_messages_snapshot(watched: Watched) -> None:
    """MESSAGES_SNAPSHOT follows @ag-ui/client's rules; the page's own records are never dropped nor sent."""
    body = """
        const { Transcript } = await import("./transcript.js");
        const { reduce } = await import("./reducer.js");
        return arg.map(([before, messages]) => {
            const t = new Transcript();
            before.forEach(message => t.add(message));
            t.note("notice", { title: "kept" });
            reduce(t, { type: "MESSAGES_SNAPSHOT", messages });
            return [t.outgoing().map(message => message.content), t.messages.filter(one => one.role === "notice").length];
        });"""
    seen = _call(watched, body, [row[:2] for row in SNAPSHOTS.values()])
    assert dict(zip(SNAPSHOTS, seen, strict=True)) == {claim: [after, 1] for claim, (_, _, after) in SNAPSHOTS.items()}


def test_reducer(watched: Watched) -> None:
    """Ids decide where a delta goes: calls interleave, a result stands after its owner, chunks open what they name, unknown types pass."""
    events = [
        {"type": "RUN_STARTED", "input": {"messages": [U]}},
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "f", "parentMessageId": "a"},
        {"type": "TOOL_CALL_START", "toolCallId": "2", "toolCallName": "g", "parentMessageId": "a"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": "{"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "2", "delta": "[]"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "1", "delta": "}"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "he"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "llo"},
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "1", "content": [{"type": "text", "text": "ok"}]},
        {"type": "TOOL_CALL_START", "toolCallId": "1", "toolCallName": "f", "parentMessageId": "a"},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "plan", "content": {"done": 0}},
        {"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "plan", "patch": [{"op": "replace", "path": "/done", "value": 1}]},
        {"type": "SOMETHING_NEW", "x": 1},
    ]
    body = """
        const { Transcript } = await import("./transcript.js");
        const { reduce } = await import("./reducer.js");
        const t = new Transcript();
        arg.forEach(event => reduce(t, event));
        return t.messages;"""
    functions = [{"name": "f", "arguments": "{}"}, {"name": "g", "arguments": "[]"}]
    calls = [{"id": id_, "type": "function", "function": function} for id_, function in zip("12", functions, strict=True)]
    assert _call(watched, body, events) == [
        U,
        {"id": "a", "role": "assistant", "toolCalls": calls},
        {"id": "t", "role": "tool", "toolCallId": "1", "content": "ok"},
        {"id": "b", "role": "assistant", "content": "hello"},
        {"id": "p", "role": "activity", "activityType": "plan", "content": {"done": 1}},
    ]


MARKDOWN = {
    "one\ntwo\n\nthree": "<p>one<br>two</p><p>three</p>",
    "**bold** *it* _it_ ~~no~~ `a*b*`": "<p><strong>bold</strong> <em>it</em> <em>it</em> <s>no</s> <code>a*b*</code></p>",
    "snake_case_name 2*3*4 **open": "<p>snake_case_name 2*3*4 **open</p>",
    "# One\n### Three": "<h3>One</h3><h5>Three</h5>",
    "- a\n- b\n  - c\n\nafter": "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>after</p>",
    "3. x\n4. y": '<ol start="3"><li>x</li><li>y</li></ol>',
    "> said\n> twice": "<blockquote><p>said<br>twice</p></blockquote>",
    "a\n***\nb": "<p>a</p><hr><p>b</p>",
    "[x](//evil.example/y) [y](javascript:alert(1)) [z](a/b)": (
        '<p><a href="//evil.example/y" target="_blank" rel="noopener noreferrer">x</a> <span>y</span> '
        '<a href="a/b" target="_blank" rel="noopener noreferrer">z</a></p>'
    ),
    "\\*not\\* <b>": "<p>*not* &lt;b&gt;</p>",
    "": "",
}


def test_markdown(watched: Watched) -> None:
    """The small Markdown that agents write, as DOM; anything else stays text."""
    body = """
        const { Markdown } = await import("./markdown/render.js");
        return arg.map(text => { const root = document.createElement("div"); new Markdown(root).update(text); return root.innerHTML; });"""
    assert _call(watched, body, list(MARKDOWN)) == list(MARKDOWN.values())


def test_markdown_grows(watched: Watched) -> None:
    """Drawn token by token the result is the same as drawn at once, and blocks that are done are not drawn again."""
    text = "# T\n\none **two**\n\n- a\n- b\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend"
    body = """
        const { Markdown } = await import("./markdown/render.js");
        const [whole, grown] = [document.createElement("div"), document.createElement("div")];
        new Markdown(whole).update(arg);
        const growing = new Markdown(grown);
        let first = null;
        for (let n = 1; n <= arg.length; n += 1) { growing.update(arg.slice(0, n)); if (n === 8) first = grown.firstChild; }
        return [whole.innerHTML === grown.innerHTML, first === grown.firstChild, grown.children.length];"""
    assert _call(watched, body, text) == [True, True, 6]


JSON_TEXTS = {
    '{"a":[1,2],"b":{}}': '{\n  "a": [\n    1,\n    2\n  ],\n  "b": {}\n}',
    '{"a":"x,{y}': '{\n  "a": "x,{y}',
    '"plain"': '"plain"',
    "not json": "not json",
    '{"q":"\\"': '{\n  "q": "\\"',
    "": "",
}


def test_json_lay_out(watched: Watched) -> None:
    """JSON is indented even when it is cut in the middle; other text is left alone."""
    body = 'const { layOut } = await import("./json.js"); return arg.map(layOut);'
    assert _call(watched, body, list(JSON_TEXTS)) == list(JSON_TEXTS.values())
