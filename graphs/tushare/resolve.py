"""`resolve_stock`: from what the user said to one stock, asking where that is not enough."""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.func import task

from graphs.hitl import Cancelled, InputRequest, Option, SelectRequest, cancelled_text, request_input, request_select
from graphs.tools import ToolLoader
from graphs.tushare.rows import Row, rows_of

STOCK_BASIC = "stock_basic"
NOTHING_CHOSEN = "用户没有选择股票。"
_FIELDS = "ts_code,name,industry"


def resolve_stock_tool(load: ToolLoader) -> BaseTool:
    """The tool; it finds names with `stock_basic`, one of the tools that `load` gives.

    The tool starts from its top when its question is answered. What was found then is in the thread, as the result of a task: the user
    chose from that, and a server that is away by now must not cost the answer.
    """

    @task
    async def look_up(name: str) -> list[Row]:
        return await _look_up(load, name)

    @tool
    async def resolve_stock(ts_code: str | None = None, name: str | None = None) -> str:
        """Find the one stock the user means, by code (like 600519.SH) or by name. Asks the user where the name is missing or ambiguous.
        Returns JSON {ts_code, name}. Call it before any tool that needs a ts_code."""
        code, wanted = (ts_code or "").strip(), (name or "").strip()
        if not code and not wanted:
            answer = request_input(InputRequest(message="请输入股票名称或代码", placeholder="例如：贵州茅台 或 600519.SH"))
            if isinstance(answer, Cancelled):
                return cancelled_text(answer)
            given = answer.value.strip()
            code, wanted = (given, "") if "." in given else ("", given)
        if code:
            return _chosen(code, wanted or None)
        return _one_of(wanted, await look_up(wanted)) if wanted else NOTHING_CHOSEN

    return resolve_stock


def _chosen(ts_code: str, name: str | None) -> str:
    return json.dumps({"ts_code": ts_code, "name": name}, ensure_ascii=False)


def _one_of(wanted: str, found: Sequence[Row]) -> str:
    if not found:
        return f"没有找到名称为“{wanted}”的股票，请换一个名称或直接给出代码。"
    if len(found) == 1:
        return _chosen(str(found[0]["ts_code"]), _name(found[0]))
    answer = request_select(SelectRequest(message=f"“{wanted}”对应多只股票，请选择一只", options=[_option(row) for row in found]))
    if isinstance(answer, Cancelled):
        return cancelled_text(answer)
    value = answer.value.strip()
    if not value:
        return NOTHING_CHOSEN
    # an answer outside the list is the user's own word: code and name in one
    return _chosen(value, next((_name(row) for row in found if row["ts_code"] == value), value))


def _option(row: Row) -> Option:
    code = str(row["ts_code"])
    return Option(label=f"{_name(row) or code} ({code})", value=code, description=str(row["industry"]) if row.get("industry") else None)


def _name(row: Row) -> str | None:
    return str(row["name"]) if row.get("name") else None


async def _look_up(load: ToolLoader, name: str) -> list[Row]:
    stock_basic = next((t for t in await load() if t.name == STOCK_BASIC), None)
    if stock_basic is None:
        raise ToolException(f"数据服务没有 {STOCK_BASIC} 工具，无法按名称查找，请直接给出股票代码。")
    accepted = stock_basic.args
    args = {key: value for key, value in {"name": name, "fields": _FIELDS}.items() if key in accepted or not accepted}
    # no callbacks: the look-up is part of this call and not to be announced as one of its own
    found = await stock_basic.ainvoke({"type": "tool_call", "name": STOCK_BASIC, "args": args, "id": STOCK_BASIC}, {"callbacks": []})
    message = found if isinstance(found, ToolMessage) else ToolMessage(str(found), tool_call_id=STOCK_BASIC)
    if message.status == "error":
        raise ToolException(message.text)
    return [row for row in rows_of(message.text) if row.get("ts_code")]
