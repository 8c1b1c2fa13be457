"""editorChat: talks, or rewrites."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from graphs.catalog import AGENTS, Deps
from graphs.editor_chat.graph import NO_QUESTION
from graphs.writing.write_edit import NO_DOCUMENT
from tests.functions.runs.conftest import thread
from tests.support.agent_thread import AgentThread
from tests.support.writing import WORKING, opened, say, scripted, summaries_of, thinking, told

__all__ = ["thread"]

New = Callable[..., AgentThread]


async def test_a_question_is_answered(thread: New) -> None:
    """The model's thinking and text stream; it sees the document, the focus and the talk before; there is no CUSTOM."""
    model = scripted(thinking("看", "第二段。"), "因为太长。")
    talk = opened(thread, "editorChat", model)
    run = await say(talk, "这一段是什么意思", documentBaseline="甲\n乙\n", focuses=["乙"])
    assert told(run) == ["REASONING 看", "TEXT 第二段。"]
    await say(talk, "为什么", documentBaseline="甲\n乙\n")
    system, *history = model.calls[1]
    assert all(
        part in system.text for part in ("不要给出整段或全文的替换稿", "也不要声称已经修改了文稿", "<document>\n甲\n乙\n\n</document>")
    )
    assert [m.text for m in history] == ["这一段是什么意思", "第二段。", "为什么"]


async def test_a_request_is_carried_out(thread: New) -> None:
    """As writer does it; the intent is decided silently."""
    model = scripted('{"intent": "write"}', "甲\n丙\n", json.dumps({"summaries": ["换字"]}))
    run = await say(opened(thread, "editorChat", model), "第二行好一点", documentBaseline="甲\n乙\n")
    assert told(run)[:2] == [f"TEXT {WORKING}", "CUSTOM writer_change_summaries"]
    assert summaries_of(run)["changes"] == [{"hintFrom": 2, "originalText": "乙\n", "newText": "丙\n", "summary": "换字"}]


@pytest.mark.parametrize(
    ("text", "state", "notice"),
    [
        (None, {}, NO_QUESTION),
        ("  ", {}, NO_QUESTION),
        ("润色", {}, NO_DOCUMENT),
        ("为什么", {"forceIntent": "write", "documentBaseline": " "}, NO_DOCUMENT),
        ("润色", {"editCase": "inline"}, NO_DOCUMENT),
    ],
)
async def test_notices(text: str | None, state: dict[str, Any], notice: str, thread: New) -> None:
    """Without a question, or a document to rewrite; it knows no inline case."""
    model = scripted()
    run = await say(opened(thread, "editorChat", model), text, **state)
    assert (told(run), model.calls) == ([f"TEXT {notice}"], [])


async def test_a_model_out_of_reach_ends_the_run(thread: New) -> None:
    """While it decides: an error, not a guess."""
    run = await say(opened(thread, "editorChat", scripted(ConnectionError("db-7"))), "好一点")
    assert run.outcome == "UPSTREAM_UNREACHABLE"


@pytest.mark.parametrize(
    ("given", "expected"), [("ask", "ask"), ("write", "write"), ("", None), ("edit", None), (["ask"], None), (1, None)]
)
def test_options(given: Any, expected: str | None) -> None:
    """forceIntent only `ask` or `write`; the case is always the document."""
    found = AGENTS["editorChat"].read_options({"forceIntent": given, "editCase": "inline"}, {}).configurable
    assert (found.get("forceIntent"), found["editCase"]) == (expected, "document")


def test_it_needs_a_model() -> None:
    """Said when it is built."""
    with pytest.raises(ValueError, match="editorChat needs a chat model"):
        AGENTS["editorChat"].build(Deps(None))
