"""What the offline model does for every agent whose own script says nothing.

It decides by words in the last user message, first match wins; a rule whose tool is not bound does not apply:

| words | what it does |
|---|---|
| `fail now`, `出错` | breaks off in the middle of a word with `OfflineFailure` |
| `count to N`, `数到 N` | says the numbers from 1 to N (at most 5000), a slow long answer |
| `ask two`, `问两个` | two `ask_input` calls in one turn: a name and a city |
| `multi`, `several`, `多选` | `ask_multi_choice` |
| `confirm`, `确认` | `ask_confirm` |
| `type in`, `fill in`, `输入`, `填写` | `ask_input` |
| `ask me`, `choose`, `问我`, `选择` | `ask_choice` |
| … with `search`, `搜索` or `查` beside an ask word | asks first, then searches for the answer |
| a question (`?`, what, how, why, 什么, 怎么 …), `search`, `policy`, `搜索`, `制度` … | `kb_search`, then an answer with its link |
| anything, where `get_weather`, `fetch_user_order` or `kb_search` is the only tool | that tool |
| anything else | says what it is and what to try |

After tool results it answers from them. It speaks Chinese to a Chinese message, English otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from graphs.offline.conversation import Call, Conversation, Round, calling, thoughtful
from graphs.scripted import Turn, chunks_of

_MAX_COUNT = 5000
_QUOTE_CHARS = 160


class OfflineFailure(RuntimeError):
    """What the offline model raises when it is asked to fail."""


def reply(talk: Conversation, tools: Sequence[str]) -> Turn:
    """By the rules of this module's docstring; it always has an answer."""
    if talk.says(r"\bfail now\b|出错"):
        return _broken(talk)
    if counted := re.search(r"(?:\bcount to|数到)\s*(\d+)", talk.text, re.IGNORECASE):
        return " ".join(str(i + 1) for i in range(min(int(counted[1]), _MAX_COUNT)))
    plan = _plan(talk, tools)
    if talk.rounds < len(plan):
        return calling(talk, plan[talk.rounds](talk))
    return _final(talk) if talk.results else _introduction(talk, tools)


def _broken(talk: Conversation) -> Turn:
    spoken = chunks_of(AIMessage(talk.pick("离线模型将在这个词的中", "The offline model breaks off in the mid")))
    turn: list[AIMessageChunk | BaseException] = [*spoken, OfflineFailure("the offline model was asked to fail")]
    return turn


# what to call, in turns


def _plan(talk: Conversation, tools: Sequence[str]) -> list[Round]:
    if len(tools) == 1 and tools[0] in _ONLY_TOOL:
        return [_ONLY_TOOL[tools[0]]]
    asks = next((ask for words, tool, ask in _ASKS if tool in tools and talk.says(words)), None)
    searches = "kb_search" in tools
    if asks is not None:
        return [asks, _search] if searches and talk.says(r"\bsearch|搜索|查") else [asks]
    return [_search] if searches and talk.says(_KNOWLEDGE) else []


def _ask_two(talk: Conversation) -> list[Call]:
    name, city = (talk.pick("你叫什么名字？", "What is your name?"), talk.pick("你在哪个城市？", "Which city do you live in?"))
    return [("ask_input", {"message": name}), ("ask_input", {"message": city})]


def _ask_several(talk: Conversation) -> list[Call]:
    message = talk.pick("你想了解哪些主题？可以多选。", "Which topics interest you? Choose any number.")
    return [("ask_multi_choice", {"message": message, "options": _topics(talk)})]


def _ask_confirm(talk: Conversation) -> list[Call]:
    title, body = talk.pick("请确认", "Please confirm"), talk.pick("要继续吗？", "Shall I go on?")
    return [("ask_confirm", {"title": title, "body": body, "actions": [talk.pick("继续", "Go on"), talk.pick("停止", "Stop")]})]


def _ask_input(talk: Conversation) -> list[Call]:
    message = talk.pick("请输入你的名字。", "What is your name?")
    return [("ask_input", {"message": message, "placeholder": talk.pick("名字", "Name")})]


def _ask_choice(talk: Conversation) -> list[Call]:
    message = talk.pick("你想了解哪个主题？", "Which topic interests you?")
    return [("ask_choice", {"message": message, "options": _topics(talk)})]


def _topics(talk: Conversation) -> list[dict[str, str]]:
    labels = (
        ("leave", "年假", "annual leave"),
        ("expenses", "报销", "travel expenses"),
        ("interrupts", "中断与恢复", "interrupts and resume"),
    )
    return [{"label": talk.pick(chinese, english), "value": value} for value, chinese, english in labels]


_ASKS: tuple[tuple[str, str, Round], ...] = (
    (r"\bask two\b|问两个", "ask_input", _ask_two),
    (r"\bmulti|\bseveral\b|多选", "ask_multi_choice", _ask_several),
    (r"\bconfirm|确认", "ask_confirm", _ask_confirm),
    (r"\btype in\b|\bfill in\b|输入|填写", "ask_input", _ask_input),
    (r"\bask me\b|\bchoose\b|\bchoice\b|问我|选择", "ask_choice", _ask_choice),
)

_KNOWLEDGE = (
    r"[?？]|\b(what|how|why|when|where|which|who|search|find|policy|knowledge|docs|leave|expenses?)\b"
    r"|什么|怎么|如何|为什么|多少|哪|几天|查|搜索|知识|制度|政策|规定|年假|报销"
)


def _answer(result: ToolMessage) -> str:
    """What the user answered, without the words an ask tool puts before it."""
    return re.sub(r"^用户(选择|回答)：", "", result.text)


def _search(talk: Conversation) -> list[Call]:
    answers = " ".join(_answer(result) for result in talk.results)
    return [("kb_search", {"query": answers or talk.text})]


def _weather(talk: Conversation) -> list[Call]:
    named = re.search(r"\bin ([A-Z][\w-]*(?: [A-Z][\w-]*)*)|(北京|上海|广州|深圳|杭州|成都)", talk.text)
    return [("get_weather", {"location": (named[1] or named[2]) if named else talk.pick("北京", "Beijing")})]


def _order(talk: Conversation) -> list[Call]:
    number = re.search(r"\d{3,}", talk.text)
    return [("fetch_user_order", {"orderId": number[0] if number else "10086"})]


_ONLY_TOOL: dict[str, Round] = {"get_weather": _weather, "fetch_user_order": _order, "kb_search": _search}


# what to say


def _final(talk: Conversation) -> AIMessage:
    thought = talk.pick("工具已有结果，据此回答。", "The tools have answered; I reply from their results.")
    return thoughtful(thought, "\n\n".join(_told(talk, result) for result in talk.results))


_FRAGMENT = re.compile(r"(\[(?:\\.|[^\]\\])+\]\(/kb\?[^)\s]+\))\n(.+?)(?=\n\n|\Z)", re.DOTALL)


def _told(talk: Conversation, result: ToolMessage) -> str:
    if result.name != "kb_search":
        return talk.pick(f"收到，{result.text}", f"Got it: {_answer(result)}")
    found = _FRAGMENT.search(result.text)
    if found is None:
        return talk.pick("知识库里没有找到相关内容，可以换个说法再问。", "The knowledge base has nothing on this. Try other words.")
    quote = " ".join(found[2].split())
    quote = quote if len(quote) <= _QUOTE_CHARS else f"{quote[:_QUOTE_CHARS]}…"
    return talk.pick(f"根据 {found[1]}：{quote}", f"According to {found[1]}: {quote}")


def _introduction(talk: Conversation, tools: Sequence[str]) -> AIMessage:
    thought = talk.pick("没有规则匹配，介绍一下自己。", "No rule matches this, so I say what I am.")
    if not tools:
        return thoughtful(
            thought,
            talk.pick(f"我是离线模型，没有工具。你说：{talk.text}", f"I am the offline model, without tools. You said: {talk.text}"),
        )
    chinese = (
        f"我是离线模型：按脚本回答，不需要密钥，也不联网。你说：{talk.text}\n\n"
        "可以试试：\n- 年假有几天？\n- 问我一个问题\n- 多选\n- 请我确认\n- 让我输入名字\n- 问两个问题\n- 问我一个主题，然后搜索\n- 数到 100"
    )
    english = (
        "I am the offline model: scripted, without key or network. "
        f"You said: {talk.text}\n\nTry:\n- How many days of annual leave are there?\n- Ask me something\n- Let me choose several\n"
        "- Ask me to confirm\n- Let me type in my name\n- Ask two questions\n- Ask me for a topic, then search\n- Count to 100"
    )
    return thoughtful(thought, talk.pick(chinese, english))
