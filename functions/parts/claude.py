"""claudeAgent's part: which Claude it asks, and in which folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from functions.parts.messages_wire import MessagesWire
from functions.settings import ON_AWS, Settings
from graphs.catalog import AGENTS
from graphs.claude_setup import TOOLS, ClaudeSetup
from graphs.models import OFFLINE, make_model

ROOT = Path(__file__).resolve().parents[2]
# The identity of the function is its own: the CLI gets it only to call Bedrock.
_IDENTITY = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_CREDENTIALS_FULL_URI")


def make(settings: Settings) -> ClaudeSetup:
    """For a model of the spec's providers; with any other the agent is unavailable, and nobody runs it."""
    allowed = tuple(tool for tool in TOOLS if tool in settings.claude_allowed.replace(",", " ").split())
    folder = Path(settings.claude_folder).expanduser() if settings.claude_folder else ROOT
    provider, _, model = settings.chat_model.partition(":")
    if provider == OFFLINE:
        delay = settings.offline_delay_ms
        return ClaudeSetup(folder, environment=lambda: {**_without_identity(), **_offline(delay)}, allowed=allowed)
    if provider == "anthropic":
        return ClaudeSetup(folder, model, environment=_without_identity, allowed=allowed)
    return ClaudeSetup(folder, model, environment=lambda: {"CLAUDE_CODE_USE_BEDROCK": "1"}, allowed=allowed)


def _without_identity() -> Mapping[str, str]:
    """The CLI's variables are laid over this process's: what it must not have is emptied."""
    return dict.fromkeys((name for name in _IDENTITY if name in os.environ), "") if ON_AWS in os.environ else {}


def _offline(delay_ms: int) -> Mapping[str, str]:
    return {"ANTHROPIC_BASE_URL": _wire(delay_ms).url, "ANTHROPIC_API_KEY": "offline", "ANTHROPIC_AUTH_TOKEN": "", "NO_PROXY": "127.0.0.1"}


@cache
def _wire(delay_ms: int) -> MessagesWire:
    """One for the process, opened by its first run: a model that is never asked has no port."""
    return MessagesWire(make_model(OFFLINE, offline_delay_ms=delay_ms, script=AGENTS["claudeAgent"].offline_script()))
