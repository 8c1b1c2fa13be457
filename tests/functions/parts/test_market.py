"""Tushare's tools over MCP, from a real server on a real socket: what it can do to its client, and what is told of it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException

from functions.parts import make_deps, market
from functions.parts.mcp import load_tools
from functions.settings import Settings
from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel, make_model
from graphs.tools import EMPTY_RESULT, ToolsUnavailable
from graphs.tushare.graph import build
from tests.support.agent_thread import calling
from tests.support.conversation import Conversation
from tests.support.market_server import TODAY, TOKEN, MarketServer, market_server

CALL = {"type": "tool_call", "name": "daily", "args": {"ts_code": "000001.SZ", "start_date": "20261127"}, "id": "c0"}


@pytest.fixture(scope="module")
def running() -> Iterator[MarketServer]:
    with market_server() as server:
        yield server


@pytest.fixture
def server(running: MarketServer) -> MarketServer:
    running.faults.clear()
    running.asked.clear()
    running.market.answer = None
    return running


def settings(token: str, server: MarketServer | None = None, **more: Any) -> Settings:
    given: dict[str, Any] = {"TUSHARE_TOKEN": token, "offline_delay_ms": 0, **({"tushare_url": server.url} if server else {}), **more}
    return Settings(**given)


async def daily_of(server: MarketServer, **limits: float) -> BaseTool:
    tools = await load_tools(server.url, TOKEN, service="Tushare", **limits)
    return next(tool for tool in tools if tool.name == "daily")


async def called(tool: BaseTool) -> ToolMessage:
    message = await tool.ainvoke(CALL)
    assert isinstance(message, ToolMessage)
    return message


async def test_the_servers_tools_are_called(server: MarketServer) -> None:
    """All of them, with their arguments; the token goes along in the query and as bearer; a session for each call."""
    tools = await load_tools(server.url, TOKEN, service="Tushare")
    assert [tool.name for tool in tools] == ["stock_basic", "daily", "daily_basic", "monthly"]
    assert "ts_code" in tools[1].args
    assert [row["trade_date"] for row in json.loads((await called(tools[1])).text)["data"]] == ["20261130", "20261127"]
    assert {*server.asked} == {(f"token={TOKEN}", f"Bearer {TOKEN}")}


LOADS: dict[str, tuple[str, str | int, str]] = {
    "refused at the door": ("initialize", 403, "令牌被拒绝（HTTP 403），请检查令牌"),
    "broken": ("initialize", 500, "返回 HTTP 500，请稍后再试"),
    "slow to connect": ("initialize", "slow", "响应超时，请稍后再试"),
    "no MCP": ("initialize", "nonsense", "响应超时，请稍后再试"),
    "not found": ("initialize", 404, "返回了无法理解的内容（McpError），请稍后再试"),
    "slow to list": ("tools/list", "slow", "响应超时，请稍后再试"),
    "broken when listing": ("tools/list", 502, "返回 HTTP 502，请稍后再试"),
}


@pytest.mark.parametrize("case", LOADS)
async def test_tools_cannot_be_loaded(case: str, server: MarketServer, caplog: pytest.LogCaptureFixture) -> None:
    """Told by its kind, within the time for loading; neither the token nor what the server said reaches the text or the log's own line."""
    method, fault, told = LOADS[case]
    server.faults[method] = fault
    with pytest.raises(ToolsUnavailable) as raised:
        await load_tools(server.url, TOKEN, service="Tushare", **({"load_seconds": 0.4} if "超时" in told else {}))
    assert str(raised.value) == f"Tushare 数据服务：{told}"
    assert TOKEN not in caplog.text


async def test_a_wrong_token(server: MarketServer, caplog: pytest.LogCaptureFixture) -> None:
    """The server's own 401; the token that was tried is in no log, also where httpx logs its requests."""
    caplog.set_level(logging.INFO)
    with pytest.raises(ToolsUnavailable, match="令牌被拒绝（HTTP 401）"):
        await load_tools(server.url, "wr0ng", service="Tushare")
    assert "HTTP Request: POST" in caplog.text
    assert "wr0ng" not in caplog.text


CALLS: dict[str, tuple[str | int, str]] = {
    "slow": ("slow", "响应超时，请稍后再试"),
    "broken": (503, "返回 HTTP 503，请稍后再试"),
    "refused": (401, "令牌被拒绝（HTTP 401），请检查令牌"),
}


@pytest.mark.parametrize("case", CALLS)
async def test_a_call_fails(case: str, server: MarketServer) -> None:
    """`ToolException`, which a tool node tells the model as it is."""
    tool = await daily_of(server, **({"call_seconds": 0.4} if case == "slow" else {}))
    server.faults["tools/call"], told = CALLS[case]
    with pytest.raises(ToolException) as raised:
        await called(tool)
    assert str(raised.value) == f"Tushare 数据服务：{told}"


ANSWERS: dict[str, tuple[Any, str, str]] = {
    "rows in blocks of their own": ([{"a": 1}, {"a": 2}], "success", '[{"a": 1}, {"a": 2}]'),
    "texts in blocks of their own": (["a", "b"], "success", "a\nb"),
    "nothing": ([], "success", ""),
    "the tool's own error": (ValueError("没有权限"), "error", "Error executing tool daily: 没有权限"),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_what_a_tool_says(case: str, server: MarketServer) -> None:
    """One text, whatever the number of blocks; an error of the tool is a result with that status."""
    server.market.answer, status, text = ANSWERS[case]
    message = await called(await daily_of(server))
    assert (message.status, message.text) == (status, text)


async def test_a_restart_between_two_calls() -> None:
    """While it is away the call says so; afterwards the same tool works, without a new load."""
    with market_server() as server:
        tool = await daily_of(server)
        server.stop()
        with pytest.raises(ToolException, match="无法连接"):
            await called(tool)
        server.start()
        assert (await called(tool)).status == "success"


async def test_in_the_graph(server: MarketServer) -> None:
    """Loaded once, an empty answer gets its placeholder, a failed load is forgotten."""
    server.faults["tools/list"] = 500
    model = ScriptedModel(turns=["sorry", calling(("daily", {"ts_code": "x"})), "done"])
    talk = Conversation(build(Deps(model, market=market.make(settings(TOKEN, server))), today=lambda: TODAY))
    await talk.say("hi")
    server.faults.clear()
    server.market.answer = []
    await talk.say("again")
    assert [m.text for m in await talk.messages() if m.type in ("ai", "tool")] == ["sorry", "", EMPTY_RESULT, "done"]


async def test_the_whole_dialogue_over_mcp(server: MarketServer) -> None:
    """An ambiguous name, a choice, the data of the chosen stock, the report: as without a token, but every row came over the wire."""
    deps = make_deps(AGENTS["tushare"], settings(TOKEN, server))
    talk = Conversation(build(deps, today=lambda: TODAY))
    [asked] = await talk.say("平安最近三天的量价")
    await talk.answer({asked.id: {"value": "601318.SH"}})
    messages = await talk.messages()
    assert [call["name"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls] == [
        "resolve_stock",
        "daily",
        "daily_basic",
    ]
    local = Conversation(build(Deps(make_model("offline", script=AGENTS["tushare"].offline_script())), today=lambda: TODAY))
    [asked] = await local.say("平安最近三天的量价")
    await local.answer({asked.id: {"value": "601318.SH"}})
    assert messages[-1].text == (await local.messages())[-1].text


async def test_only_some_of_the_servers_tools(server: MarketServer, caplog: pytest.LogCaptureFixture) -> None:
    """By name, and always the one that finds names; a name that the server has not is in the log."""
    load = market.make(settings(TOKEN, server, tushare_tools="daily, weekly"))
    assert load is not None
    assert [tool.name for tool in await load()] == ["stock_basic", "daily"]
    assert "has not: weekly" in caplog.text


def test_without_a_token_there_is_no_loader() -> None:
    """The agent then takes its sample data."""
    assert market.make(settings("")) is None


async def test_without_its_client_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "functions.parts.mcp", None)
    load = market.make(settings("x"))
    assert load is not None
    with pytest.raises(ToolsUnavailable, match="uv sync --extra tushare"):
        await load()
