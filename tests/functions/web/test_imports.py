"""What an agent's process loads before its first run: its own cold start, nobody else's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graphs.catalog import AGENTS

NOBODYS = (
    "aws_cdk", "boto3", "claude_agent_sdk", "infra", "jwt", "langchain", "langchain_anthropic", "langchain_aws", "langchain_deepseek",
    "langchain_mcp_adapters", "langchain_openai", "langgraph_checkpoint_aws", "mcp", "moto", "openai", "s3transfer", "tests", "uvicorn",
)  # fmt: skip
"""The stack, the laptop's parts, other modes' and models' clients; an SDK or an MCP client is loaded at the first run that needs it."""
KNOWLEDGE = ("graphs.knowledge", "functions.parts.knowledge", "functions.web.knowledge")


def package(agent: str) -> str:
    """Of an agent's own modules: `graphs.dev.graph:build` → `graphs.dev`."""
    return ".".join(AGENTS[agent].module.split(".")[:2])


@pytest.mark.parametrize("agent", [pytest.param(name, marks=() if name in ("dev", "kb") else pytest.mark.long) for name in AGENTS])
def test_an_agent_loads_nothing_of_the_others(agent: str) -> None:
    """No other agent's modules, no knowledge base where it is no part of it, nothing of CDK, no client of other modes and models, and of
    the AWS SDK only what calls."""
    others = {package(other) for other in AGENTS} - {package(agent)}
    unwanted = sorted({*others, *NOBODYS, *(() if "knowledge" in AGENTS[agent].parts else KNOWLEDGE)})
    code = (
        "import sys; from functions.settings import Settings; from functions.web import create_app;"
        f"create_app({agent!r}, Settings());"
        f"print([name for name in {unwanted!r} if name in sys.modules], {package(agent)!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[] True\n"
