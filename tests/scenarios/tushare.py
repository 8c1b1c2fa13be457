"""What `tushare` streams, with the offline model and the sample data of a fixed day."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from functions.parts.mcp import load_tools
from graphs.catalog import Deps
from graphs.models import make_model
from graphs.tools import ToolLoader
from graphs.tushare.graph import build
from graphs.tushare.offline import script
from tests.scenarios.telling import KeptThread
from tests.support.agent_thread import resolved
from tests.support.market_server import TODAY, TOKEN, market_server

New = Callable[..., KeptThread]


def analyst(market: ToolLoader | None = None) -> Any:
    return build(Deps(make_model("offline", script=script), market=market), today=lambda: TODAY)


async def tushare_by_code(new: New) -> None:
    """A stock by its code: resolved, two queries at once, the report of what they returned."""
    await new(analyst()).say("600036.SH 最近三天的量价")


async def tushare_which_stock(new: New) -> None:
    """A name of two stocks: a choice, answered in another process, then the data of the chosen one."""
    talk = new(analyst())
    asked = await talk.say("平安最近三天的量价")
    await talk.answer(resolved(asked.interrupts[0]["id"], {"value": "601318.SH"}))


async def tushare_server_down(new: New) -> None:
    """The tool server goes away after its tools were loaded, then it is not even there to load them: told as it is, without figures."""
    with market_server() as server:
        tools = await load_tools(server.url, TOKEN, service="Tushare")
        url = server.url

    async def loaded() -> Any:
        return tools

    await new(analyst(loaded)).say("600036.SH 最近三天的量价")
    await new(analyst(lambda: load_tools(url, TOKEN, service="Tushare"))).say("600036.SH 最近三天的量价")


STORIES = (tushare_by_code, tushare_which_stock, tushare_server_down)
