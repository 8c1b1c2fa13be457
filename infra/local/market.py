"""The sample data of `tushare` behind a real MCP server: `python -m infra.local.market [--port 8901] [--token TOKEN]`.

It shows the way of a deployed agent without an account: set `AGENTS_TUSHARE_URL` to the address it prints, and `TUSHARE_TOKEN`.
"""

from __future__ import annotations

import argparse
import hmac
from collections.abc import Sequence
from urllib.parse import parse_qs

from mcp.server.fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from graphs.tushare.sample import SampleMarket

PATH = "/mcp/"


def market_app(token: str, market: SampleMarket | None = None, path: str = PATH) -> Starlette:
    """The server as an ASGI app; it answers 401 to whoever has not the token, in the query or as bearer."""
    server = FastMCP("sample market", streamable_http_path=path)
    for function in (market or SampleMarket()).functions:
        server.add_tool(function, structured_output=False)
    app = server.streamable_http_app()
    app.add_middleware(_Guard, token=token)
    return app


class _Guard:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not any(hmac.compare_digest(given, self._token.encode()) for given in _given(scope)):
            await JSONResponse({"error": "wrong token"}, 401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _given(scope: Scope) -> Sequence[bytes]:
    query = [token.encode() for token in parse_qs(scope["query_string"].decode("latin-1")).get("token", ())]
    return [*query, *(value.removeprefix(b"Bearer ") for name, value in scope["headers"] if name == b"authorization")]


def main(argv: Sequence[str] | None = None) -> None:
    import uvicorn

    parser = argparse.ArgumentParser(prog="python -m infra.local.market", description="Sample market data over MCP.")
    parser.add_argument("--port", type=int, default=8901)
    parser.add_argument("--token", default="sample")
    options = parser.parse_args(argv)
    print(f"AGENTS_TUSHARE_URL=http://127.0.0.1:{options.port}{PATH} TUSHARE_TOKEN={options.token}", flush=True)
    uvicorn.run(market_app(options.token), host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
