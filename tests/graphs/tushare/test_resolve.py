"""`resolve_stock`: every way from what the user said to one stock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.graph import END, START, StateGraph

from graphs.messages import DeltaMessagesState
from graphs.tools import ToolLoader, ToolsUnavailable, route_tools, tool_node
from graphs.tushare.resolve import NOTHING_CHOSEN, resolve_stock_tool
from tests.support.conversation import Conversation

PING_AN = [
    {"ts_code": "000001.SZ", "name": "平安银行", "industry": "银行"},
    {"ts_code": "601318.SH", "name": "中国平安", "industry": "保险"},
    {"ts_code": "600519.SH", "name": "贵州茅台"},
]


@tool
async def stock_basic(name: str = "", fields: str = "") -> str:
    """By a part of the name."""
    if name == "坏":
        raise ToolException("服务器错误")
    return json.dumps([row for row in PING_AN if name in row["name"]], ensure_ascii=False)


stock_basic.handle_tool_error = True


async def market() -> Sequence[BaseTool]:
    return [stock_basic]


async def closed() -> Sequence[BaseTool]:
    raise ToolsUnavailable("无法连接")


async def without() -> Sequence[BaseTool]:
    return []


def asking(load: ToolLoader = market, **args: Any) -> Conversation:
    """A graph whose model calls `resolve_stock` with these arguments."""
    call = AIMessage("", tool_calls=[{"name": "resolve_stock", "args": args, "id": "c0", "type": "tool_call"}])
    graph = StateGraph(DeltaMessagesState)
    graph.add_node("agent", lambda _: {"messages": [call]})
    graph.add_node("tools", tool_node([resolve_stock_tool(load)]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route_tools("tools"), ["tools", END])
    return Conversation(graph)


def chosen(ts_code: str, name: str | None) -> str:
    return json.dumps({"ts_code": ts_code, "name": name}, ensure_ascii=False)


AT_ONCE: dict[str, tuple[dict[str, Any], str]] = {
    "a code": ({"ts_code": " 600036.SH "}, chosen("600036.SH", None)),
    "a code and a name": ({"ts_code": "600036.SH", "name": "招商银行"}, chosen("600036.SH", "招商银行")),
    "a name of one": ({"name": "茅台"}, chosen("600519.SH", "贵州茅台")),
    "a name of none": ({"name": "火星"}, "没有找到名称为“火星”的股票，请换一个名称或直接给出代码。"),
    "a failed look-up": ({"name": "坏"}, "服务器错误"),
}


@pytest.mark.parametrize("case", AT_ONCE)
async def test_without_a_question(case: str) -> None:
    """A code needs no look-up; a name does, and one hit is it."""
    args, wanted = AT_ONCE[case]
    talk = asking(**args)
    assert await talk.say("go") == []
    assert (await talk.messages())[-1].text == wanted


CANCELLED = {"cancelled": True, "reason": "用户取消"}
MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "a code": ({"value": " 600036.SH"}, chosen("600036.SH", None)),
    "a name": ({"value": "茅台"}, chosen("600519.SH", "贵州茅台")),
    "blank": ({"value": " "}, NOTHING_CHOSEN),
    "cancelled": (CANCELLED, "用户取消了回答（用户取消）。"),
}


@pytest.mark.parametrize("case", MISSING)
async def test_nothing_given(case: str) -> None:
    """An input; what contains a dot is a code, else it is a name."""
    answer, wanted = MISSING[case]
    talk = asking(name="  ")
    [asked] = await talk.say("go")
    assert asked.value["type"] == "input"
    assert await talk.answer({asked.id: answer}) == []
    assert (await talk.messages())[-1].text == wanted


MANY: dict[str, tuple[dict[str, Any], str]] = {
    "one of them": ({"value": "601318.SH"}, chosen("601318.SH", "中国平安")),
    "another": ({"value": " 平安好医生 "}, chosen("平安好医生", "平安好医生")),
    "blank": ({"value": ""}, NOTHING_CHOSEN),
    "cancelled": (CANCELLED, "用户取消了回答（用户取消）。"),
}


@pytest.mark.parametrize("case", MANY)
async def test_several_found(case: str) -> None:
    """A select of label, code and industry; an answer outside it is code and name in one."""
    answer, wanted = MANY[case]
    talk = asking(name="平安")
    [asked] = await talk.say("go")
    assert asked.value["options"] == [
        {"label": "平安银行 (000001.SZ)", "value": "000001.SZ", "description": "银行"},
        {"label": "中国平安 (601318.SH)", "value": "601318.SH", "description": "保险"},
    ]
    assert await talk.answer({asked.id: answer}) == []
    assert (await talk.messages())[-1].text == wanted


async def test_a_name_after_an_empty_start_may_be_ambiguous_too() -> None:
    """An input, then a select, in one call; each keeps its answer."""
    talk = asking()
    [first] = await talk.say("go")
    [second] = await talk.answer({first.id: {"value": "平安"}})
    assert (first.value["type"], second.value["type"]) == ("input", "select")
    await talk.answer({second.id: {"value": "000001.SZ"}})
    assert (await talk.messages())[-1].text == chosen("000001.SZ", "平安银行")


async def test_the_server_is_away_when_the_answer_comes() -> None:
    """The answer is to what was found before the question: it counts, and nothing is looked up again."""
    open_ = [False, True]

    async def closing() -> Sequence[BaseTool]:
        return await (market if open_.pop() else closed)()

    talk = asking(closing, name="平安")
    [asked] = await talk.say("go")
    await talk.answer({asked.id: {"value": "601318.SH"}})
    assert (await talk.messages())[-1].text == chosen("601318.SH", "中国平安")
    assert open_ == [False]


@pytest.mark.parametrize(("load", "told"), [(closed, "无法连接"), (without, "数据服务没有 stock_basic 工具")])
async def test_names_cannot_be_looked_up(load: ToolLoader, told: str) -> None:
    """A result that says why; a code still resolves."""
    talk = asking(load, name="平安")
    assert await talk.say("go") == []
    assert told in (await talk.messages())[-1].text
    talk = asking(load, ts_code="600036.SH")
    await talk.say("go")
    assert (await talk.messages())[-1].text == chosen("600036.SH", None)


async def test_the_look_up_is_no_call_of_its_own() -> None:
    """Only `resolve_stock` is announced as a tool that runs."""
    talk = asking(name="茅台")
    await talk.say("go")
    assert [data["tool_name"] for method, data in talk.events if method == "tools" and data["event"] == "tool-started"] == ["resolve_stock"]
