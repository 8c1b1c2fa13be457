"""The market data tools of `tushare`: those of Tushare's MCP server, with the token of the settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.tools import BaseTool

from functions.settings import Settings
from graphs.tools import ToolLoader, ToolsUnavailable

log = logging.getLogger(__name__)

MISSING = "缺少 MCP 客户端。请安装：uv sync --extra tushare"


def make(settings: Settings) -> ToolLoader | None:
    """A loader of the server's tools, which connects when it is called; None without a token: the agent's own sample data."""
    url, token = settings.tushare_url, settings.tushare_token
    if not token:
        log.info("no TUSHARE_TOKEN: tushare works on sample data")
        return None

    async def load() -> Sequence[BaseTool]:
        try:
            from functions.parts.mcp import load_tools
        except ImportError as error:
            raise ToolsUnavailable(MISSING) from error
        return await load_tools(url, token, service="Tushare")

    return load
