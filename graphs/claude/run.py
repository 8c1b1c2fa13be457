"""One run of the SDK: the CLI in a process of its own, its messages onto the stream, its session into the graph's state."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ClaudeSDKError, HookMatcher, ResultMessage
from claude_agent_sdk.types import CanUseToolShadowedWarning, SessionStore
from langchain_core.messages import BaseMessage

from graphs.claude.mapping import Reply
from graphs.claude.permission import Gate
from graphs.claude.session import Asked, Line, Session
from graphs.claude_setup import DISALLOWED, TOOLS, ClaudeFailed, ClaudeRefused, ClaudeSetup

log = logging.getLogger(__name__)

INTERRUPT_SECONDS = 2.0
"""How long a CLI that is to be ended may take to stop its work first."""
Write = Callable[[dict[str, Any]], None]
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",  # ten, its default, are minutes of silence
}


@dataclass(slots=True)
class Outcome:
    """How a run ended: its messages, its session with the lines it added, the call it waits for, and what which model used."""

    messages: Sequence[BaseMessage]
    session_id: str
    added: list[Line]
    asks: Asked | None
    model: str
    usage: Mapping[str, Any]


async def run_claude(setup: ClaudeSetup, prompt: str | None, session: Session, gate: Gate, reply: Reply, write: Write) -> Outcome:
    """Asks `prompt`, or goes on with the call that `gate` has the answer to (None). `write` gets the native events as they are made.

    Raises:
        ClaudeFailed: the CLI's result is no success, or it gave none. Whatever the SDK raises, as it is.
    """
    with _scratch() as config:
        # a task of its own: it is cancelled once and then left to end the CLI, however often the run's is
        asking = asyncio.create_task(_ask(prompt, _options(setup, session, gate, config), reply, write))
        try:
            ended = await asyncio.shield(asking)
        finally:
            await _over(asking)
    asks = ended.deferred_tool_use
    waiting = Asked(id=asks.id, name=asks.name, input=asks.input) if asks else None
    return Outcome(
        reply.messages, ended.session_id, session.added, waiting, next(iter(ended.model_usage or ()), "claude"), ended.usage or {}
    )


async def _ask(prompt: str | None, options: ClaudeAgentOptions, reply: Reply, write: Write) -> ResultMessage:
    ended: ResultMessage | None = None
    async with ClaudeSDKClient(options) as client:
        if prompt is not None:  # else the resumed CLI goes on with what it deferred
            await client.query(prompt)
        try:
            async for message in client.receive_response():
                for event in reply.map(message):
                    write(event)
                if isinstance(message, ResultMessage):
                    ended = _checked(message)
        except asyncio.CancelledError:
            await _interrupt(client)
            raise
    for event in reply.end():
        write(event)
    if ended is None:
        raise ClaudeFailed("the CLI ended without a result")
    return ended


async def _interrupt(client: ClaudeSDKClient) -> None:
    """Stops what the CLI is doing, so that it asks the model nothing more while it ends."""
    try:
        async with asyncio.timeout(INTERRUPT_SECONDS):
            await client.interrupt()
    except (TimeoutError, ClaudeSDKError) as error:
        log.warning("the CLI did not take the interrupt, and is ended: %r", error)


async def _over(task: asyncio.Task[Any]) -> None:
    """Cancels the task and returns when it has ended. Its exception is whoever awaited it's to raise."""
    task.cancel()
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})


def _options(setup: ClaudeSetup, session: Session, gate: Gate, config: str) -> ClaudeAgentOptions:
    return ClaudeAgentOptions(
        cwd=setup.folder,
        model=setup.model,
        cli_path=setup.cli,
        resume=session.session_id,
        session_store=cast(SessionStore, session),
        include_partial_messages=True,
        permission_mode="plan",
        tools=list(TOOLS),
        allowed_tools=list(setup.allowed),
        disallowed_tools=list(DISALLOWED),
        can_use_tool=gate.may_use,
        hooks={"PreToolUse": [HookMatcher(hooks=[gate.before_tool])]},
        # nothing of the folder or the machine decides what Claude may do: no settings files, no MCP servers, no slash commands, no @files
        setting_sources=[],
        strict_mcp_config=True,
        skills=[],
        verbatim_prompts=True,
        settings=json.dumps(_settings(setup)),
        env={**_QUIET, "CLAUDE_CONFIG_DIR": config, "CLAUDE_CODE_TMPDIR": config, **setup.environment()},
        stderr=lambda line: log.info("claude: %s", line),
    )


def _settings(setup: ClaudeSetup) -> dict[str, Any]:
    return {
        # a call that needs permission is the user's to decide, not a classifier's
        "useAutoModeDuringPlan": False,
        "disableAutoMode": "disable",
        # also where the CLI would not ask (a host or a command that it knows): a refused call must not run because the hook came late
        "permissions": {"ask": [tool for tool in TOOLS if tool not in setup.allowed]},
    }


def _checked(result: ResultMessage) -> ResultMessage:
    if result.is_error or result.subtype != "success":
        said = "; ".join(result.errors or ()) or result.result or result.subtype
        failure = ClaudeRefused if result.stop_reason == "refusal" else ClaudeFailed
        raise failure(f"Claude ended with {result.subtype}: {said}", result.api_error_status)
    return result


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for one run: what the CLI keeps there, its configuration and temporary files, is gone with it."""
    with tempfile.TemporaryDirectory(prefix="claude-", ignore_cleanup_errors=True) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", CanUseToolShadowedWarning)  # that allowed tools are not asked about is the point
        yield folder
