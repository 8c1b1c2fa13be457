"""The market data tools of `tushare`: those of Tushare's MCP server, with the token of the settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.tools import BaseTool

from functions.settings import Settings
from graphs.tools import ToolLoader, ToolsUnavailable

log = logging.getLogger(__name__)

STOCK_BASIC = "stock_basic"
MISSING = "缺少 MCP 客户端。请安装：uv sync --extra tushare"


def make(settings: Settings) -> ToolLoader | None:
    """A loader of the server's tools, which connects when it is called; None without a token: the agent's own sample data."""
    url, token, names = settings.tushare_url, settings.tushare_token, {name.strip() for name in settings.tushare_tools.split(",")} - {""}
    if not token:
        log.info("no TUSHARE_TOKEN: tushare works on sample data")
        return None

    async def load() -> Sequence[BaseTool]:
        try:
            from functions.parts.mcp import load_tools
        except ImportError as error:
            raise ToolsUnavailable(MISSING) from error
        tools = await load_tools(url, token, service="Tushare")
        if missing := names - {tool.name for tool in tools}:
            log.warning("AGENTS_TUSHARE_TOOLS names tools that the server has not: %s", ", ".join(sorted(missing)))
        # resolve_stock needs it
        return [tool for tool in tools if tool.name in names | {STOCK_BASIC}] if names else tools

    return load
