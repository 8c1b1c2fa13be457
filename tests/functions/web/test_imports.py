"""What an agent's process loads before its first run: its own cold start, nobody else's."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = ("graphs.knowledge", "graphs.claude", "graphs.dev", "graphs.kb", "graphs.react", "claude_agent_sdk", "mcp", "jwt", "openai")


@pytest.mark.parametrize("agent", ["writer", "tushare"])
def test_an_agent_loads_nothing_of_the_others(agent: str) -> None:
    """No knowledge base, no SDK and no client that belongs to other agents, modes or models."""
    code = (
        "import sys; from langgraph.checkpoint.memory import InMemorySaver; from functions.web import create_app;"
        f"create_app({agent!r}, checkpointer=InMemorySaver());"
        f"print([name for name in {OTHERS!r} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
