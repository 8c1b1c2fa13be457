"""What claudeAgent is built from, and what it says where it cannot run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("Read", "Grep", "Glob", "Bash", "WebFetch", "WebSearch")
"""The tools that Claude has."""
ALLOWED = ("Read", "Grep", "Glob", "Bash")
"""Those that it may use without asking, unless a setup says otherwise."""
DISALLOWED = ("Write", "Edit", "NotebookEdit")


class MissingSdk(ImportError):
    """The Claude Agent SDK is not installed; the text says which extra brings it."""

    def __init__(self) -> None:
        super().__init__("claudeAgent needs the Claude Agent SDK, which is not installed. Install it with: uv sync --extra claude")


class NoPrompt(ValueError):
    """The thread holds no text of the user: there is nothing that Claude could be asked."""

    def __init__(self) -> None:
        super().__init__("claudeAgent answers the last text of the user, and there is none")


class ClaudeFailed(RuntimeError):
    """The SDK's run ended with a result other than success. `status_code` is that of the API call that failed, if one did."""

    def __init__(self, text: str, status_code: int | None = None) -> None:
        super().__init__(text)
        self.status_code = status_code


class ClaudeRefused(ClaudeFailed):
    """The model declined to answer."""


def _nothing() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ClaudeSetup:
    """Where Claude works and whom it asks.

    Args:
        folder: what it reads, the working directory of its tools.
        model: name of the model, None for the CLI's own choice.
        environment: variables of the CLI's process, over those of this one; asked once a run.
        allowed: tools of `TOOLS` that it may use without asking; the others need the user's approval.
        cli: another CLI than the one in the SDK.
    """

    folder: Path
    model: str | None = None
    environment: Callable[[], Mapping[str, str]] = _nothing
    allowed: tuple[str, ...] = ALLOWED
    cli: Path | None = None
