"""The market data tools of `tushare`: those of Tushare's MCP server, with the token of the settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from langchain_core.tools import BaseTool

from functions.settings import Settings
from graphs.tools import ToolLoader, ToolsUnavailable
from graphs.tushare.resolve import STOCK_BASIC

log = logging.getLogger(__name__)

MISSING = "缺少 MCP 客户端。请安装：uv sync --extra tushare"


def make(settings: Settings) -> ToolLoader | None:
    """A loader of the server's tools, which connects when it is called; None without a token: the agent's own sample data."""
    if not settings.tushare_token:
        log.info("no TUSHARE_TOKEN: tushare works on sample data")
        return None
    return partial(_load, settings)


async def _load(settings: Settings) -> Sequence[BaseTool]:
    try:
        from functions.parts.mcp import load_tools
    except ImportError as error:
        raise ToolsUnavailable(MISSING) from error
    return _wanted(await load_tools(settings.tushare_url, settings.tushare_token, service="Tushare"), settings.tushare_tools)


def _wanted(tools: Sequence[BaseTool], names: str) -> Sequence[BaseTool]:
    """Those that the setting names, and the one that finds names; all where it names none."""
    named = {name.strip() for name in names.split(",")} - {""}
    if missing := named - {tool.name for tool in tools}:
        log.warning("AGENTS_TUSHARE_TOOLS names tools that the server has not: %s", ", ".join(sorted(missing)))
    return [tool for tool in tools if tool.name in named | {STOCK_BASIC}] if named else tools
