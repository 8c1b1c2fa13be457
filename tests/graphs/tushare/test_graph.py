"""The tool loop of `tushare`, with a scripted model and with the offline one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import BaseTool, tool

from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel, make_model
from graphs.tools import EMPTY_RESULT, ToolLoader, ToolsUnavailable
from graphs.tushare.graph import build
from tests.support.agent_thread import calling
from tests.support.conversation import Conversation

TODAY = date(2026, 11, 30)


@tool
async def daily(ts_code: str) -> str:
    """Quotes."""
    return f"rows of {ts_code}" if ts_code else "[]"


class Market:
    """A loader that fails as often as told; counts."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.loads = failures, 0

    async def __call__(self) -> Sequence[BaseTool]:
        self.loads += 1
        if self.loads <= self.failures:
            raise ToolsUnavailable("Tushare 数据服务：无法连接")
        return [daily]


class Bound(ScriptedModel):
    """Keeps the names it was bound to."""

    def turn(self, messages: list[Any], tools: Sequence[str]) -> Any:
        self.metadata = {"bound": [*(self.metadata or {}).get("bound", ()), list(tools)]}
        return super().turn(messages, tools)


ASKS = ["resolve_stock", "ask_input", "ask_choice", "ask_multi_choice", "ask_confirm"]


def tushare(model: BaseChatModel, market: ToolLoader | None = None) -> Conversation:
    return Conversation(build(Deps(model, market=market), today=lambda: TODAY))


async def test_one_load_for_the_model_and_the_tools() -> None:
    """The model is bound to the server's tools and the agent's own; two calls in one turn are two tasks, each announced once."""
    model, market = Bound(turns=[calling(("daily", {"ts_code": "a"}), ("daily", {"ts_code": ""})), "done", "again"]), Market()
    talk = tushare(model, market)
    await talk.say("hi")
    await talk.say("more")
    assert [message.text for message in await talk.messages()][2:4] == ["rows of a", EMPTY_RESULT]
    assert market.loads == 1
    started = [data["tool_call_id"] for method, data in talk.events if method == "tools" and data["event"] == "tool-started"]
    assert sorted(started) == ["c0", "c1"]


async def test_a_failed_load_is_told_and_tried_again() -> None:
    """The model is asked without the data tools and with the reason; the next turn has them."""
    model = ScriptedModel(turns=["sorry", "now"])
    talk = tushare(model, Market(failures=1))
    await talk.say("hi")
    await talk.say("and now?")
    first, second = (call[0].text for call in model.calls)
    assert "数据服务现在不可用：Tushare 数据服务：无法连接" in first
    assert "数据服务现在不可用" not in second


async def test_asking_needs_no_data_service() -> None:
    """While the tools cannot be loaded the agent still asks, and gets its answer."""
    talk = tushare(ScriptedModel(turns=[calling(("ask_input", {"message": "?"})), "thanks"]), Market(failures=9))
    [asked] = await talk.say("hi")
    await talk.answer({asked.id: {"value": "x"}})
    assert [message.text for message in await talk.messages()][2:] == ["用户回答：x", "thanks"]


async def test_a_call_of_a_tool_that_could_not_be_loaded_is_a_result() -> None:
    """With the reason; the run goes on."""
    talk = tushare(ScriptedModel(turns=[calling(("daily", {"ts_code": "a"})), "sorry"]), Market(failures=9))
    await talk.say("hi")
    assert [message.text for message in await talk.messages()][2:] == ["Tushare 数据服务：无法连接", "sorry"]


async def test_the_date_is_that_of_the_run() -> None:
    """Rendered at call time, in front, not stored; the temperature is 0."""
    days = iter((date(2026, 11, 30), date(2026, 12, 1)))
    model = ScriptedModel(turns=["one", "two"])
    talk = Conversation(build(Deps(model), today=lambda: next(days)))
    await talk.say("hi")
    await talk.say("hi")
    assert [call[0].text.partition("\n")[0] for call in model.calls] == [
        "今天是 2026-11-30（星期一，北京时间）。",
        "今天是 2026-12-01（星期二，北京时间）。",
    ]
    assert "system" not in [message.type for message in await talk.messages()]


async def test_a_call_in_the_text_is_run() -> None:
    """Some adapters put it there; the message keeps its id and the rest of its text."""
    chunks = [
        AIMessageChunk(content=[{"type": "text", "text": "查一下", "index": 0}]),
        AIMessageChunk(content=[{"type": "text", "text": "", "name": "daily", "args": '{"ts_code": "a"}', "id": "d1", "index": 1}]),
    ]
    talk = tushare(ScriptedModel(turns=[chunks, "done"]), Market())
    await talk.say("hi")
    said, result = (await talk.messages())[1:3]
    assert isinstance(said, AIMessage)
    assert (said.text, said.tool_calls[0]["id"], result.text) == ("查一下", "d1", "rows of a")


def test_it_builds_without_a_token_and_not_without_a_model() -> None:
    """Nothing is loaded or connected while it is built."""

    async def never() -> Sequence[BaseTool]:
        raise AssertionError("loaded")

    build(Deps(ScriptedModel(), market=never)).compile()
    with pytest.raises(ValueError, match="needs a chat model"):
        build(Deps(None))


OFFLINE: dict[str, list[str]] = {
    "600036.SH 最近三天的量价": ["resolve_stock", "daily", "daily_basic"],
    "贵州茅台的月线怎么样？": ["resolve_stock", "daily", "daily_basic", "monthly"],
    "分析一下火星科技最近的走势": ["resolve_stock"],
    "今天天气真好": [],
}


@pytest.mark.parametrize("text", OFFLINE)
async def test_offline(text: str) -> None:
    """Which tools the script calls, and that its last word is a text."""
    talk = tushare(make_model("offline", script=AGENTS["tushare"].offline_script()))
    assert await talk.say(text) == []
    messages = await talk.messages()
    assert [call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls] == OFFLINE[text]
    assert messages[-1].text


async def test_offline_it_asks_which_stock() -> None:
    """No name → an input, two stocks → a select, then a report that says it is sample data and gives no advice."""
    talk = tushare(make_model("offline", script=AGENTS["tushare"].offline_script()))
    [first] = await talk.say("帮我看看一只股票")
    [second] = await talk.answer({first.id: {"value": "平安"}})
    await talk.answer({second.id: {"value": "000001.SZ"}})
    report = (await talk.messages())[-1].text
    titles = [line.removeprefix("## ") for line in report.splitlines() if line.startswith("## ")]
    assert titles == ["股票", "区间走势", "月线", "三日量价", "估值与换手", "数据说明"]
    assert "平安银行（000001.SZ）" in report
    assert "示例数据" in report
    assert "不构成投资建议" in report
