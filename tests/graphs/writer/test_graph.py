"""writer: a selection, a document, and what it says when there is neither."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from functions.runs import stream_graph_agui_events
from graphs.catalog import AGENTS, Deps
from graphs.completion import Endpoint, over_endpoint
from graphs.writing.write_edit import NO_CHANGE, NO_DOCUMENT, NO_RESULT, NO_SELECTION
from tests.functions.runs.conftest import thread
from tests.support.agent_thread import AgentThread
from tests.support.chat_wire import chat_wire
from tests.support.small_graphs import pieces
from tests.support.writing import WORKING, opened, say, scripted, serving, summaries_of, thinking, told

__all__ = ["thread"]

New = Callable[..., AgentThread]

OLD, NEW = "\n\n一。\n二。\n三。\n\n", "一。\n2。\n三。"
NOTES = json.dumps({"summaries": ["改为数字"]})


async def test_a_document(thread: New) -> None:
    """TEXT, REASONING, CUSTOM, a final note, in this order; the baseline comes back as it was sent, the changes fit it."""
    model = scripted(thinking("逐行看", NEW), NOTES)
    run = await say(opened(thread, "writer", model), "润色", documentBaseline=OLD)
    assert told(run) == [f"TEXT {WORKING}", "REASONING 逐行看", "CUSTOM writer_change_summaries", "TEXT 已给出 1 处修改建议，请逐条确认。"]
    assert summaries_of(run) == {
        "changes": [{"hintFrom": 5, "originalText": "二。\n", "newText": "2。\n", "summary": "改为数字"}],
        "polished": "\n\n一。\n2。\n三。\n\n",
        "baseline": OLD,
    }
    assert [m["content"] for m in run.snapshot] == ["润色", "已给出 1 处修改建议，请逐条确认。"]


@pytest.mark.parametrize("old", [OLD, "一\r\n二\r\n", "🎉\n", "x" * 200_000])
async def test_nothing_to_change(old: str, thread: New) -> None:
    """Identical text: no changes, the event all the same, no call for summaries."""
    model = scripted(old.strip().replace("\r\n", "\n"))
    run = await say(opened(thread, "writer", model), "润色", documentBaseline=old)
    assert summaries_of(run) == {"changes": [], "polished": old, "baseline": old}
    assert (run.snapshot[-1]["content"], len(model.calls)) == (NO_CHANGE, 1)


async def test_failed_summaries_are_empty(thread: New) -> None:
    """The run goes on, the changes are there."""
    run = await say(opened(thread, "writer", scripted(NEW, ConnectionError("db-7"))), "润色", documentBaseline=OLD)
    assert [change["summary"] for change in summaries_of(run)["changes"]] == [""]
    assert run.outcome == "success"


async def test_no_result(thread: New) -> None:
    """An empty answer: no event, and the note says that nothing changed."""
    run = await say(opened(thread, "writer", scripted("  ")), "润色", documentBaseline=OLD)
    assert told(run) == [f"TEXT {WORKING}", f"TEXT {NO_RESULT}"]


@pytest.mark.parametrize(
    ("text", "state", "notice"),
    [
        ("润色", {}, NO_DOCUMENT),
        ("润色", {"documentBaseline": " \r\n\t"}, NO_DOCUMENT),
        ("润色", {"documentBaseline": 7}, NO_DOCUMENT),
        (None, {}, NO_DOCUMENT),
        (None, {"editCase": "inline"}, NO_SELECTION),
        ("  ", {"writerMode": "inline", "documentBaseline": OLD}, NO_SELECTION),
        (None, {"editCase": "inline", "originalMarkdown": "  "}, NO_SELECTION),
    ],
)
async def test_notices(text: str | None, state: dict[str, Any], notice: str, thread: New) -> None:
    """Without what a case needs: a notice, no CUSTOM, and the model is not called."""
    model = scripted()
    run = await say(opened(thread, "writer", model), text, **state)
    assert (told(run), run.outcome, model.calls) == ([f"TEXT {notice}"], "success", [])


@pytest.mark.parametrize("state", [{"editCase": "inline"}, {"writerMode": "inline"}])
async def test_a_selection(state: dict[str, Any], thread: New) -> None:
    """Only the replacement and the thinking stream, as the message that is stored; no CUSTOM."""
    model = scripted(thinking("想", "更好"))
    run = await say(opened(thread, "writer", model), "不错", polishInstruction="更正式", focuses=["错"], **state)
    assert told(run) == ["REASONING 想", "TEXT 更好"]
    [system, human] = model.calls[0]
    assert (human.text, run.snapshot[-1]["content"]) == ("不错", "更好")
    assert all(part in system.text for part in ("只输出替换它的文字", "## 改写要求\n更正式", "## 重点关注的文字\n1. 错"))


async def test_the_state_may_carry_the_selection(thread: New) -> None:
    """`originalMarkdown`, where no message came; a message beats it."""
    model = scripted("一", "二")
    talk = opened(thread, "writer", model)
    assert told(await say(talk, None, editCase="inline", originalMarkdown="甲")) == ["TEXT 一"]
    await say(talk, "乙", editCase="inline", originalMarkdown="甲")
    assert [call[-1].text for call in model.calls] == ["甲", "乙"]
    assert [len(call) for call in model.calls] == [2, 2]  # an earlier selection is no part of the question


async def test_what_a_rewrite_is_told(thread: New) -> None:
    """The rules, the case, the instruction, numbered focus texts; the talk before; the request; the document, trimmed."""
    model = scripted(OLD.strip(), OLD.strip())
    talk = opened(thread, "writer", model)
    await say(talk, "先看看", documentBaseline=OLD)
    await say(talk, "润色", documentBaseline=OLD, polishInstruction="更短", focuses=["一。", {"text": "三。"}, 4, " "])
    [system, human] = model.calls[1]
    assert "## 任务：改写全文" in system.text
    assert system.text.endswith("## 改写要求\n更短\n\n## 重点关注的文字\n1. 一。\n2. 三。")
    assert human.text == (
        f"<conversation>\n用户：先看看\n助手：{NO_CHANGE}\n</conversation>\n\n"
        "<request>\n润色\n</request>\n\n<document>\n一。\n二。\n三。\n</document>"
    )


async def test_a_document_through_an_endpoint(thread: New) -> None:
    """`Deps.complete` writes instead of the model: its reasoning streams, its text does not."""
    with chat_wire() as wire:
        wire.streams([{"reasoning_content": "想"}, {"content": "甲\n"}, {"content": "丙"}])
        complete = over_endpoint(Endpoint(wire.url, "m"))
        run = await say(opened(thread, "writer", scripted(), complete=complete), "润色", documentBaseline="甲\n乙\n")
    assert told(run)[:3] == [f"TEXT {WORKING}", "REASONING 想", "CUSTOM writer_change_summaries"]
    assert [change["summary"] for change in summaries_of(run)["changes"]] == [""]  # the wire answers that question with a stream
    assert [asked["stream"] for asked in wire.asked] == [True, False]


async def test_a_completion_is_cancelled_with_its_run(thread: New) -> None:
    """The client's generator is closed in the middle: the provider sees the connection close."""
    with chat_wire() as wire:
        wire.streams([{"reasoning_content": "x" * 10_000}] * 300)
        wire.pause = 0.02
        talk = opened(thread, "writer", scripted(), complete=over_endpoint(Endpoint(wire.url, "m")))
        given = talk.input(messages=[{"id": "u", "role": "user", "content": "润色"}], state={"documentBaseline": OLD})
        async with aclosing(stream_graph_agui_events(given, talk.compiled(), agent="writer", **serving("writer"))) as events:
            async for event in events:
                if event.type == "REASONING_MESSAGE_CONTENT":
                    break
        assert await asyncio.to_thread(wire.hung_up.wait, 20)


async def test_a_failing_model_ends_the_run(thread: New) -> None:
    """In the middle of the document: no event with half a text, the error's code, and the same input again goes on."""
    talk = opened(thread, "writer", scripted([*_half("甲"), TimeoutError()], NEW, NOTES))
    run = await say(talk, "润色", documentBaseline=OLD)
    assert (run.outcome, run.of("CUSTOM")) == ("UPSTREAM_TIMEOUT", [])
    again = await say(talk, None, documentBaseline=OLD)
    assert summaries_of(again)["baseline"] == OLD


def _half(text: str) -> list[Any]:
    return pieces(("reasoning", "想", 0), ("text", text, 1))


def test_it_needs_a_model() -> None:
    """Said when it is built."""
    with pytest.raises(ValueError, match="writer needs a chat model"):
        AGENTS["writer"].build(Deps(None))
