"""The offline model of the writing agents: which call it knows, what its rules do."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from graphs.catalog import AGENTS
from graphs.models import make_model
from graphs.writing import prompts
from graphs.writing.offline_rules import RULES, findings, note_for, polish, rewrite
from tests.functions.runs.conftest import thread
from tests.support.agent_thread import AgentThread
from tests.support.writing import opened, say, summaries_of, told

__all__ = ["thread"]

New = Callable[..., AgentThread]

POLISHED = [
    ("效果很好,可以用", "效果很好，可以用"),
    ("价格 1,000 元。", "价格 1,000 元。"),
    ("使用Python写了3个。", "使用 Python 写了 3 个。"),
    ("a  b   c ", "a b c"),
    ("  indent", "  indent"),
    ("我们进行了讨论。", "我们讨论了。"),
    ("其实非常非常好。", "非常好。"),
    ("由于下雨的原因，推迟。", "由于下雨，推迟。"),
    ("This is is a very long line", "This is a long line."),
    ("In order to win, we run.", "to win, we run."),
    ("这是一段没有句号的正文文字", "这是一段没有句号的正文文字。"),
    ("# 一个没有句号的标题不需要句号", "# 一个没有句号的标题不需要句号"),
    ("- 列表里的一项同样不需要句号", "- 列表里的一项同样不需要句号"),
    ("好", "好"),
    ("", ""),
]


@pytest.mark.parametrize(("line", "better"), POLISHED)
def test_polish(line: str, better: str) -> None:
    """Each rule, and what it leaves alone."""
    assert polish(line) == better


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("的了是在我们进行测试,.。 \tab1A#-\n\r`其实非常very"), max_size=40))
def test_a_rewritten_text_stays(text: str) -> None:
    """The same text, the same rewrite; a second one changes nothing."""
    once = rewrite(text, "润色")
    assert rewrite(once, "润色") == once
    assert list(findings(once)) == []


@pytest.mark.parametrize(
    ("request_", "text", "better"),
    [
        ("精简", "第一句。第二句。\n\n- 项一。项二。", "第一句。\n\n- 项一。项二。"),
        ("shorten it", "One thing. Another 1.5 thing.", "One thing."),
        ("扩写", "这是一段足够长的正文。", "这是一段足够长的正文。这一点在实践中尤为重要。"),
        ("expand", "A long enough line.", "A long enough line. This matters most in practice."),
        ("续写", "正文。", "正文。\n\n总之，以上各点相互支持，值得继续推进。"),
        ("润色", "```\na  b,\n```\r\n其实好,是\r\n", "```\na  b,\n```\r\n好，是\r\n"),
    ],
)
def test_requests(request_: str, text: str, better: str) -> None:
    """The request chooses; code keeps its blanks, lines their ends."""
    assert rewrite(text, request_) == better


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [("其实好。\n", "好。\n", "精简冗余表达"), ("a  b\n", "a b\n", "去除多余空格"), ("", "x\n", "新增段落"), ("x\n", "", "删去段落"),
     ("一。二。\n", "一。\n", "精简内容"), ("一。\n", "一。二。\n", "补充内容")],
)  # fmt: skip
def test_notes(old: str, new: str, note: str) -> None:
    """What made the change, in at most 20 characters."""
    assert note_for(old, new) == note
    assert all(len(rule.note) <= 20 for rule in RULES)


@pytest.mark.parametrize(("text", "intent"), [("帮我看看", "write"), ("make it nicer", "write"), ("这样好吗", "ask")])
async def test_intent(text: str, intent: str) -> None:
    """JSON, as the agent asks for it."""
    model = make_model("offline", script=AGENTS["editorChat"].offline_script())
    said = await model.ainvoke([SystemMessage(prompts.INTENT_PROMPT), HumanMessage(text)])
    assert json.loads(said.text) == {"intent": intent}


DOCUMENT = "\n# 标题\n\n其实好,是\r\n不变。\n\nuse  two\n🎉\n"


@pytest.mark.parametrize("name", ["writer", "editorChat"])
async def test_a_whole_rewrite(name: str, thread: New) -> None:
    """Thinking, several changes, a note for each, the same every time."""
    model = make_model("offline", script=AGENTS[name].offline_script())
    runs = [await say(opened(thread, name, model), "润色全文", documentBaseline=DOCUMENT) for _ in range(2)]
    value = summaries_of(runs[0])
    assert value == summaries_of(runs[1])
    assert [(c["hintFrom"], c["newText"], c["summary"]) for c in value["changes"]] == [
        (7, "好，是\r\n", "统一全角标点"),
        (19, "use two\n", "去除多余空格"),
    ]
    assert any(line.startswith("REASONING 先通读全文") for line in told(runs[0]))


async def test_a_talk_about_the_document(thread: New) -> None:
    """What a rewrite would mend, by line; without one what to do; a failure on request, not for a word in the document."""
    model = make_model("offline", script=AGENTS["editorChat"].offline_script())
    talk = opened(thread, "editorChat", model)
    assert "- 第 4 行：统一全角标点" in (await say(talk, "为什么不好", documentBaseline=DOCUMENT)).text
    assert "没有打开的文稿" in (await say(talk, "为什么")).text
    assert (await say(talk, "润色", thoughts=True, documentBaseline="程序出错时会 fail now。")).outcome == "success"
    assert (await say(talk, "润色，然后出错", documentBaseline=DOCUMENT)).outcome == "AGENT_INTERNAL"


async def test_a_long_document_takes_few_tokens() -> None:
    """The pause after each token must not add up to minutes."""
    script = AGENTS["writer"].offline_script()
    model = make_model("offline", script=script)
    asked = [
        SystemMessage(prompts.edit_prompt("document", prompts.Wish())),
        HumanMessage(prompts.document_request("字。\n" * 50_000, "润色", "")),
    ]
    chunks = [chunk async for chunk in model.astream(asked)]
    assert len(chunks) < 150
    assert isinstance(chunks[0], AIMessage)
