"""The ASGI app behind one agent's function URL."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel

from functions.observing.spans import telemetry
from functions.settings import Settings, get_settings
from functions.web import continued, copilotkit, current, info, joins, openapi, problems, runs, stops, threads
from functions.web.served import serve_agent


def create_app(
    agent_name: str,
    settings: Settings | None = None,
    *,
    graph: Pregel[Any, Any, Any, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> FastAPI:
    """The app of one agent.

    Args:
        agent_name: a key of `graphs.catalog.AGENTS`; any name if `graph` is given.
        settings: default: from the environment.
        graph: a compiled graph of one's own, served with the checkpointer it was compiled with.
        checkpointer: instead of the DynamoDB table of the settings.

    Raises:
        functions.runs.agents.UnknownAgent: the catalog has no such agent.
    """
    settings = settings or get_settings()
    served = serve_agent(agent_name, settings, graph, checkpointer)
    spec = served.agent.spec
    app = FastAPI(
        title=spec.title, description=spec.description, docs_url=None, redoc_url=None, redirect_slashes=False, telemetry=telemetry()
    )
    problems.install(app)
    if settings.cors:
        app.add_middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
    current.install(app, served)
    openapi.install(app)
    for part in (runs, continued, joins, stops, threads, info, copilotkit):
        app.include_router(part.router)
    for name in spec.routes:
        app.include_router(import_module(f"functions.web.{name}").router)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(openapi_url="openapi.json", title=spec.title)  # relative: the page may be behind a path

    return app
