"""claudeAgent with its real SDK and CLI; what its model says is a script behind a Messages API on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.graph import StateGraph

from functions.parts.messages_wire import MessagesWire
from graphs.catalog import Deps
from graphs.claude.graph import build
from graphs.claude_setup import ClaudeSetup
from graphs.models import ScriptedModel


def put(folder: str | Path, name: str, text: str) -> None:
    Path(folder, name).write_text(text, "utf-8")


def got(folder: str | Path, name: str) -> str | None:
    """The file's text; None: there is no such file."""
    path = Path(folder, name)
    return path.read_text("utf-8") if path.exists() else None


class Status(Exception):
    """A turn that is answered with this HTTP status."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


@dataclass
class Claude:
    """`model.calls` is what the CLI asked; `variables` are its environment."""

    model: ScriptedModel
    variables: dict[str, str] = field(default_factory=dict)

    def graph(self, folder: Path, **setup: Any) -> StateGraph[Any, Any, Any, Any]:
        """The agent over `folder`, as a new process would build it."""
        return build(Deps(None, claude=self.setup(folder, **setup)))

    def setup(self, folder: Path, **setup: Any) -> ClaudeSetup:
        return ClaudeSetup(folder, environment=lambda: self.variables, **setup)


@contextmanager
def claude(*turns: Any) -> Iterator[Claude]:
    """The model says `turns`, one for each time it is asked. The CLI does not try again."""
    model = ScriptedModel(turns=list(turns))
    wire = MessagesWire(model)
    try:
        yield Claude(model, {"ANTHROPIC_BASE_URL": wire.url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_MAX_RETRIES": "0"})
    finally:
        wire.close()
