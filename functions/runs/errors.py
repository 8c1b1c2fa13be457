"""An exception → what a client may know of it: a code, a friendly sentence of ours. The log has the rest.

Classified by exception type and status attribute first, by text second: a run id that contains 401 must not mean "auth".
Types of libraries that may not be installed are known by their qualified name, looked up along the exception's `__mro__`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from typing import Any

MESSAGES: dict[str, str] = {
    "GRAPH_STEP_LIMIT": "The agent took too many steps and was stopped. Ask for less at once, or raise its step limit.",
    "KB_INFRA_DOWN": "The knowledge base cannot be reached right now. Try again in a moment.",
    "UPSTREAM_UNREACHABLE": "A service that the agent needs cannot be reached right now. Try again in a moment.",
    "LLM_AUTH_FAILED": "The model provider refused the key of this deployment. Its operator has to check it.",
    "LLM_RATE_LIMITED": "The model provider is limiting requests. Try again in a moment.",
    "LLM_REFUSED": "The model provider declined to answer this. Say it in other words, or begin a new thread.",
    "UPSTREAM_TIMEOUT": "A service that the agent needs took too long to answer. Try again.",
    "AGENT_INTERNAL": "The agent failed. The thread is kept: you can send the message again.",
    "INVALID_RESUME": "That answer does not have the form that the question asks for. The question is still open.",
    "RUN_DEADLINE": "The run reached its time limit and stopped. Send an empty run to continue it.",
    "STOPPED": "The run was stopped.",
    "RUN_LOST": "The process of this run ended before it could. What it had finished is stored: send a message, or an empty run, to go on.",
    "EVENTS_MISSING": "Some events of this run were not kept, so that its stream cannot be shown whole. Load the thread again.",
    "EVENTS_UNREADABLE": "The events of this run cannot be read now, while it may go on. Join the run again after its last event.",
    "JOIN_ENDED": "The run goes on, but this stream of it has reached its time limit. Join the run again after its last event.",
    "CHECKPOINTER_NEEDED": "The agent asked a question, but its graph has no checkpointer to keep it: no answer could be taken.",
    "LEASE_LOST": "The run gave no sign of life for too long, and another has taken over its thread. Load the thread again.",
    "SECRET_UNAVAILABLE": "A key that the agent needs cannot be read. The operator of this deployment has to check its secrets.",
    "NO_PROMPT": "There is no text to answer: this agent reads the last text message, and images alone say nothing to it.",
    "AGENT_UNAVAILABLE": "The agent's software is not installed here. Its operator has to install it: uv sync --extra claude.",
    "CHECKPOINT_TOO_LARGE": "The state of this thread is too large to be stored.",
}

REJECTIONS = ("BAD_INPUT", "INVALID_RESUME", "RUN_IN_PROGRESS", "LIMIT_EXCEEDED", "ALREADY_ANSWERED", "NOT_FOUND", "EVENTS_EXPIRED")
"""Codes of `RunRejected`: the input's fault, not the agent's."""

_BY_TYPE: dict[str, str] = {
    "langgraph.errors.GraphRecursionError": "GRAPH_STEP_LIMIT",
    "graphs.knowledge.errors.KnowledgeUnavailable": "KB_INFRA_DOWN",
    "graphs.endings.ModelRefused": "LLM_REFUSED",
    "graphs.claude_setup.NoPrompt": "NO_PROMPT",
    "graphs.claude_setup.ClaudeRefused": "LLM_REFUSED",
    "graphs.claude_setup.MissingSdk": "AGENT_UNAVAILABLE",
    "functions.store.errors.LeaseLost": "LEASE_LOST",
    "functions.runs.errors.CheckpointerNeeded": "CHECKPOINTER_NEEDED",
    "functions.secrets.SecretUnavailable": "SECRET_UNAVAILABLE",
    # its cause is an AWS error, which would read as the model provider's
    "functions.store.errors.StoreError": "AGENT_INTERNAL",
    "openai.AuthenticationError": "LLM_AUTH_FAILED",
    "openai.PermissionDeniedError": "LLM_AUTH_FAILED",
    "openai.RateLimitError": "LLM_RATE_LIMITED",
    "openai.APITimeoutError": "UPSTREAM_TIMEOUT",
    "openai.APIConnectionError": "UPSTREAM_UNREACHABLE",
    "anthropic.AuthenticationError": "LLM_AUTH_FAILED",
    "anthropic.PermissionDeniedError": "LLM_AUTH_FAILED",
    "anthropic.RateLimitError": "LLM_RATE_LIMITED",
    "anthropic.APITimeoutError": "UPSTREAM_TIMEOUT",
    "anthropic.APIConnectionError": "UPSTREAM_UNREACHABLE",
    "httpx.TimeoutException": "UPSTREAM_TIMEOUT",
    "httpx.NetworkError": "UPSTREAM_UNREACHABLE",
    "httpx.RemoteProtocolError": "UPSTREAM_UNREACHABLE",
    # the fork of httpx that newer SDKs (openai 3) are built on
    "httpx2.TimeoutException": "UPSTREAM_TIMEOUT",
    "httpx2.NetworkError": "UPSTREAM_UNREACHABLE",
    "httpx2.RemoteProtocolError": "UPSTREAM_UNREACHABLE",
    "botocore.exceptions.ConnectTimeoutError": "UPSTREAM_TIMEOUT",
    "botocore.exceptions.ReadTimeoutError": "UPSTREAM_TIMEOUT",
    "botocore.exceptions.EndpointConnectionError": "UPSTREAM_UNREACHABLE",
    "botocore.exceptions.ConnectionError": "UPSTREAM_UNREACHABLE",
    "botocore.exceptions.HTTPClientError": "UPSTREAM_UNREACHABLE",
    # what botocore lets through while it reads a stream
    "urllib3.exceptions.TimeoutError": "UPSTREAM_TIMEOUT",
    "urllib3.exceptions.ProtocolError": "UPSTREAM_UNREACHABLE",
    "builtins.TimeoutError": "UPSTREAM_TIMEOUT",
    "asyncio.exceptions.TimeoutError": "UPSTREAM_TIMEOUT",
    "socket.gaierror": "UPSTREAM_UNREACHABLE",
    "builtins.ConnectionError": "UPSTREAM_UNREACHABLE",
}
_BY_STATUS = {
    401: "LLM_AUTH_FAILED",
    403: "LLM_AUTH_FAILED",
    429: "LLM_RATE_LIMITED",
    529: "LLM_RATE_LIMITED",  # Anthropic's "overloaded"
    408: "UPSTREAM_TIMEOUT",
    504: "UPSTREAM_TIMEOUT",
}
_BY_AWS_CODE = {
    "ThrottlingException": "LLM_RATE_LIMITED",
    "TooManyRequestsException": "LLM_RATE_LIMITED",
    "ServiceQuotaExceededException": "LLM_RATE_LIMITED",
    "AccessDeniedException": "LLM_AUTH_FAILED",
    "UnrecognizedClientException": "LLM_AUTH_FAILED",
    "ExpiredTokenException": "LLM_AUTH_FAILED",
    "ModelTimeoutException": "UPSTREAM_TIMEOUT",
}
# `code` of an OpenAI error that came inside a stream, under status 200
_BY_PROVIDER_CODE = {
    "rate_limit_exceeded": "LLM_RATE_LIMITED",
    "insufficient_quota": "LLM_RATE_LIMITED",
    "invalid_api_key": "LLM_AUTH_FAILED",
}
_BY_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bitem size (to update )?has exceeded\b", re.I), "CHECKPOINT_TOO_LARGE"),
    (re.compile(r"\b(invalid|incorrect)[ _]api[ _]key\b|\bunauthori[sz]ed\b", re.I), "LLM_AUTH_FAILED"),
    (re.compile(r"\brate[ _-]?limit|\btoo many requests\b|\bquota\b|\boverloaded(_error)?\b", re.I), "LLM_RATE_LIMITED"),
    (re.compile(r"\btimed? ?out\b", re.I), "UPSTREAM_TIMEOUT"),
    (re.compile(r"\bconnection refused\b|\bno route to host\b|\bname or service not known\b", re.I), "UPSTREAM_UNREACHABLE"),
)

CAUSE_DEPTH = 4
CAUSE_CHARS = 2_000
STACK_CHARS = 4_000


def serialize_agent_error(exc: BaseException, *, agent: str, thread_id: str, run_id: str) -> dict[str, Any]:
    """`{message, code, name, json}`: `message`, `code` and `name` may reach a client; `json` is for the log alone.

    `json` holds agent, thread, run, the cause chain (depth 4, 2,000 characters each) and the stack (4,000 characters).
    """
    code = error_code(exc)
    return {
        "message": MESSAGES[code],
        "code": code,
        "name": type(exc).__name__,
        "json": {
            "agent": agent,
            "thread_id": thread_id,
            "run_id": run_id,
            "causes": [f"{type(e).__name__}: {_text(e)}"[:CAUSE_CHARS] for e in _chain(exc)],
            "stack": "".join(traceback.format_exception(exc))[-STACK_CHARS:],
        },
    }


def error_code(exc: BaseException) -> str:
    """The first rule that matches anything in the cause chain: type or status of each, then text of each."""
    chain = list(_chain(exc))
    for error in chain:
        if code := _code_by_type(error) or _code_by_status(error):
            return code
    for error in chain:
        for pattern, code in _BY_TEXT:
            if pattern.search(_text(error)):
                return code
    return "AGENT_INTERNAL"


def retry_after(exc: BaseException) -> float | None:
    """Seconds that the provider wants to be left alone (`retry-after`, as a number), or None where it says nothing."""
    for error in _chain(exc):
        response = getattr(error, "response", None)
        headers = (
            response.get("ResponseMetadata", {}).get("HTTPHeaders") if isinstance(response, dict) else getattr(response, "headers", None)
        )
        said = str((headers or {}).get("retry-after", ""))
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", said):
            return float(said)
    return None


def _code_by_type(error: BaseException) -> str | None:
    from langgraph.errors import is_invalid_resume

    if is_invalid_resume(error):
        return "INVALID_RESUME"
    for cls in type(error).__mro__:
        if code := _BY_TYPE.get(f"{cls.__module__}.{cls.__qualname__}"):
            return code
    return None


def _code_by_status(error: BaseException) -> str | None:
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        # an error inside an event stream has the name of its event, which begins in lower case
        aws_code = str(response.get("Error", {}).get("Code", ""))
        return _BY_AWS_CODE.get(aws_code[:1].upper() + aws_code[1:]) or _BY_STATUS.get(
            response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        )
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int):
        return _BY_STATUS.get(status)
    code = getattr(error, "code", None)
    return _BY_PROVIDER_CODE.get(code) if isinstance(code, str) else None


def _chain(exc: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    error: BaseException | None = exc
    while error is not None and id(error) not in seen and len(seen) < CAUSE_DEPTH:
        seen.add(id(error))
        yield error
        error = _cause(error)


def _cause(error: BaseException) -> BaseException | None:
    """What is behind it: the cause, the first of a group (task groups wrap what failed in them), the context."""
    grouped = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else None
    return error.__cause__ or grouped or (None if error.__suppress_context__ else error.__context__)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a library's broken __str__ must not hide the error it belongs to
        return "(no text: its __str__ raises)"


class CheckpointerNeeded(Exception):
    """A graph called `interrupt()` and was compiled without a checkpointer: the question could never be answered."""


class RunRejected(Exception):
    """The input cannot become a run. Nothing was stored or answered.

    Args:
        status: the HTTP status where it is known before the stream starts.
        code: `BAD_INPUT`, `INVALID_RESUME`, …: the code of the `RUN_ERROR` where the stream has started.
        message: what to do about it, for the client.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
