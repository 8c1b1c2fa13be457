"""What this function is: `/info`, the catalog, and a health check that touches nothing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    AgentCapabilities,
    HumanInTheLoopCapabilities,
    ReasoningCapabilities,
    StateCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)
from fastapi import APIRouter

from functions.web.current import Caller, Here
from graphs.catalog import AGENTS

router = APIRouter()


@router.get("/info", summary="The agent and what it can do")
async def info(served: Here, who: Caller) -> dict[str, Any]:
    spec = served.agent.spec
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "version": _version(),
        "protocolVersion": PROTOCOL_VERSION,
        "offline": served.offline,
        "unavailable": served.unavailable,
        "defaultText": spec.default_text,
        "capabilities": capabilities().model_dump(by_alias=True),
        "agents": {spec.name: {"name": spec.name, "description": spec.description}},  # where CopilotKit's client looks
    }


@router.get("/agents", summary="Every agent of this deployment")
async def agents(served: Here, who: Caller) -> dict[str, Any]:
    urls = served.settings.function_urls
    return {
        "agents": [
            {"name": s.name, "title": s.title, "description": s.description} | ({"url": urls[s.name]} if s.name in urls else {})
            for s in AGENTS.values()
        ]
    }


@router.get("/health", summary="Alive; touches nothing else")
@router.get("/ok", include_in_schema=False)
@router.get("/ping", include_in_schema=False)
async def health() -> dict[str, str]:
    return {"status": "ok"}


def capabilities() -> AgentCapabilities:
    """What AG-UI calls capabilities: informative, and only what is true."""
    return AgentCapabilities(
        transport=TransportCapabilities(streaming=True),
        tools=ToolsCapabilities(supported=True),
        state=StateCapabilities(snapshots=True, deltas=True),
        reasoning=ReasoningCapabilities(supported=True, streaming=True),
        human_in_the_loop=HumanInTheLoopCapabilities(supported=True, approvals=True, interrupts=True),
    )


def _version() -> str:
    try:
        return version("agent-functions")
    except PackageNotFoundError:  # a bundle carries the packages without their installer's metadata
        return "unpackaged"
