"""The tools of an MCP server over streamable HTTP, as LangChain tools. Imported only when a server is asked: it needs an extra.

Each call has a session of its own, so a server that was restarted, or an environment that was frozen, is no special case.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx
from langchain_core.tools import BaseTool, ToolException
from langchain_mcp_adapters.interceptors import MCPToolCallRequest, MCPToolCallResult
from langchain_mcp_adapters.sessions import StreamableHttpConnection
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import McpError
from mcp.types import CallToolResult, TextContent

from graphs.tools import ToolsUnavailable

log = logging.getLogger(__name__)

LOAD_SECONDS = 25.0
"""For connecting and listing the tools together."""
CALL_SECONDS = 60.0
"""For one call of a tool, its connection included."""

# What a server can do to its client: a status, no answer, an answer that is no MCP, an error in MCP's own words. Task groups wrap them.
_FAILURES = (httpx.HTTPError, McpError, OSError, TimeoutError, ValueError, RuntimeError, ExceptionGroup)


async def load_tools(
    url: str, token: str, *, service: str, load_seconds: float = LOAD_SECONDS, call_seconds: float = CALL_SECONDS
) -> Sequence[BaseTool]:
    """All tools of the server at `url`; `service` is its name in what users read. The token goes along as query and as bearer.

    Raises `graphs.tools.ToolsUnavailable`. A failed call raises `ToolException`, with a text that names neither host nor token.
    """

    async def call(request: MCPToolCallRequest, handler: Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]]) -> MCPToolCallResult:
        try:
            async with asyncio.timeout(call_seconds):
                return _as_one_text(await handler(request))
        except _FAILURES as error:
            log.warning("%s: the tool %s failed", service, request.name, exc_info=error)
            raise ToolException(f"{service} 数据服务：{reason(error)}") from error

    try:
        async with asyncio.timeout(load_seconds):
            return await load_mcp_tools(None, connection=_connection(url, token), tool_interceptors=[call], server_name=service)
    except _FAILURES as error:
        log.warning("%s: its tools cannot be loaded", service, exc_info=error)
        raise ToolsUnavailable(f"{service} 数据服务：{reason(error)}") from error


def reason(error: BaseException) -> str:
    """What a user may know of a failure: its kind, and what to do about it."""
    first = _first(error)
    if isinstance(first, httpx.HTTPStatusError):
        status = first.response.status_code
        return f"令牌被拒绝（HTTP {status}），请检查令牌" if status in (401, 403) else f"返回 HTTP {status}，请稍后再试"
    if isinstance(first, TimeoutError | httpx.TimeoutException):
        return "响应超时，请稍后再试"
    if isinstance(first, httpx.TransportError | OSError):
        return "无法连接，请稍后再试"
    return f"返回了无法理解的内容（{type(first).__name__}），请稍后再试"


def _first(error: BaseException) -> BaseException:
    """What a task group wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _as_one_text(result: MCPToolCallResult) -> MCPToolCallResult:
    """Servers send a row a block: several blocks of JSON become one list, which a model and a page can read as rows."""
    if not isinstance(result, CallToolResult) or not all(isinstance(block, TextContent) for block in result.content):
        return result
    text = _joined([block.text for block in result.content if isinstance(block, TextContent)])
    return result.model_copy(update={"content": [TextContent(type="text", text=text)]})


def _joined(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    try:
        rows = [json.loads(text) for text in texts]
    except ValueError:
        return "\n".join(texts)
    return json.dumps(rows, ensure_ascii=False) if rows else ""


def _connection(url: str, token: str) -> StreamableHttpConnection:
    def client(
        headers: dict[str, str] | None = None, timeout: httpx.Timeout | None = None, auth: httpx.Auth | None = None
    ) -> httpx.AsyncClient:
        transport = _WithToken(token, httpx.URL(url))
        return httpx.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=transport)

    return StreamableHttpConnection(
        transport="streamable_http", url=url, httpx_client_factory=client, headers={"Authorization": f"Bearer {token}"}
    )


class _WithToken(httpx.AsyncHTTPTransport):
    """Adds `?token=` below the client, whose logs and exceptions hold the address; only for the server's own origin."""

    def __init__(self, token: str, server: httpx.URL) -> None:
        super().__init__()
        self._token, self._origin = token, (server.scheme, server.host, server.port)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if (url.scheme, url.host, url.port) == self._origin:
            request = _at(request, url.copy_merge_params({"token": self._token}))
        return await super().handle_async_request(request)


def _at(request: httpx.Request, url: httpx.URL) -> httpx.Request:
    moved: dict[str, Any] = {"headers": request.headers, "stream": request.stream, "extensions": request.extensions}
    return httpx.Request(request.method, url, **moved)
