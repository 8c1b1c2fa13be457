"""What every run says first, and what a failed one says last."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ag_ui.core import PROTOCOL_VERSION, BaseEvent, RunAgentInput, RunErrorEvent, RunStartedEvent

from functions.runs.echo import echoed
from functions.runs.errors import retry_after, serialize_agent_error
from functions.runs.turn import trailing_messages

log = logging.getLogger(__name__)


def run_started(input: RunAgentInput) -> RunStartedEvent:
    echo = echoed(input, trailing_messages(input))
    return RunStartedEvent(protocol_version=PROTOCOL_VERSION, thread_id=input.thread_id, run_id=input.run_id, input=echo)


def run_failed(exc: Exception, input: RunAgentInput, *, agent: str, debug: bool) -> tuple[str, str, dict[str, Any]]:
    """Logs it with its stack → message, code and metadata of the RUN_ERROR. `debug` puts the exception's own text into the last."""
    error = serialize_agent_error(exc, agent=agent, thread_id=input.thread_id, run_id=input.run_id)
    log.error("run failed: %s %s", error["code"], error["name"], extra={"error": error["json"]})
    metadata: dict[str, Any] = {"name": error["name"]} | ({"detail": error["json"]["causes"]} if debug else {})
    if (seconds := retry_after(exc)) is not None:
        metadata["retryAfter"] = seconds
    return error["message"], error["code"], metadata


def never_begun(exc: Exception, input: RunAgentInput, *, agent: str, debug: bool) -> Sequence[BaseEvent]:
    """The whole stream of a run whose agent could not be made: its thread was not touched, and the message can be sent again."""
    message, code, metadata = run_failed(exc, input, agent=agent, debug=debug)
    return [run_started(input), RunErrorEvent(message=message, code=code, metadata=metadata)]
