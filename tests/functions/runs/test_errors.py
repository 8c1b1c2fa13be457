"""What a client may know of an exception: tables with the libraries' own classes."""

from __future__ import annotations

import socket
from typing import Any

import anthropic
import botocore.exceptions as aws
import httpx
import httpx2
import openai
import pytest
from langgraph.errors import GraphRecursionError

from functions.runs.errors import MESSAGES, CheckpointerNeeded, error_code, serialize_agent_error
from functions.store.errors import StoreError, Throttled
from graphs.knowledge import KnowledgeUnavailable

REQUEST = httpx2.Request("POST", "https://api.example.com/v1")
OLD_REQUEST = httpx.Request("POST", "https://api.example.com/v1")
RUN_ID = "run-401-429"


def status(code: int) -> httpx2.Response:
    return httpx2.Response(code, request=REQUEST)


def http_error(code: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("x", request=OLD_REQUEST, response=httpx.Response(code, request=OLD_REQUEST))


def client_error(code: str, http: int = 400, text: str = "m") -> aws.ClientError:
    answer: Any = {"Error": {"Code": code, "Message": text}, "ResponseMetadata": {"HTTPStatusCode": http}}
    return aws.ClientError(answer, "Converse")


def caused(outer: BaseException, cause: BaseException | None) -> BaseException:
    outer.__cause__ = cause
    return outer


class Foreign(Exception):
    """A library's error with a status."""

    def __init__(self, status_code: Any) -> None:
        self.status_code = status_code


def named(module: str, name: str) -> BaseException:
    """An exception of a library that is not installed here, or not yet written."""
    made: type[BaseException] = type(name, (Exception,), {"__module__": module})
    return made("x")


CODES: list[tuple[BaseException, str]] = [
    (GraphRecursionError("25"), "GRAPH_STEP_LIMIT"),
    (KnowledgeUnavailable("vectors.internal:6333"), "KB_INFRA_DOWN"),
    (caused(KnowledgeUnavailable("x"), httpx.ConnectError("x")), "KB_INFRA_DOWN"),
    (caused(RuntimeError("node"), KnowledgeUnavailable("x")), "KB_INFRA_DOWN"),
    (CheckpointerNeeded(), "CHECKPOINTER_NEEDED"),
    (caused(StoreError("denied"), client_error("AccessDeniedException", 403)), "AGENT_INTERNAL"),
    (caused(Throttled("x"), client_error("ThrottlingException")), "AGENT_INTERNAL"),
    (client_error("ValidationException", text="Item size has exceeded the maximum allowed size"), "CHECKPOINT_TOO_LARGE"),
    # openai
    (openai.AuthenticationError("x", response=status(401), body=None), "LLM_AUTH_FAILED"),
    (openai.PermissionDeniedError("x", response=status(403), body=None), "LLM_AUTH_FAILED"),
    (openai.RateLimitError("x", response=status(429), body=None), "LLM_RATE_LIMITED"),
    (openai.APITimeoutError(REQUEST), "UPSTREAM_TIMEOUT"),
    (openai.APIConnectionError(request=REQUEST), "UPSTREAM_UNREACHABLE"),
    (openai.InternalServerError("x", response=status(504), body=None), "UPSTREAM_TIMEOUT"),
    (openai.BadRequestError("x", response=status(400), body=None), "AGENT_INTERNAL"),
    # anthropic
    (anthropic.AuthenticationError("x", response=status(401), body=None), "LLM_AUTH_FAILED"),
    (anthropic.PermissionDeniedError("x", response=status(403), body=None), "LLM_AUTH_FAILED"),
    (anthropic.RateLimitError("x", response=status(429), body=None), "LLM_RATE_LIMITED"),
    (anthropic.APITimeoutError(REQUEST), "UPSTREAM_TIMEOUT"),
    (anthropic.APIConnectionError(request=REQUEST), "UPSTREAM_UNREACHABLE"),
    (anthropic.InternalServerError("x", response=status(504), body=None), "UPSTREAM_TIMEOUT"),
    (anthropic.APIStatusError("Overloaded", response=status(529), body=None), "LLM_RATE_LIMITED"),
    (anthropic.APIStatusError("{'type': 'overloaded_error'}", response=status(200), body=None), "LLM_RATE_LIMITED"),
    (anthropic.BadRequestError("x", response=status(400), body=None), "AGENT_INTERNAL"),
    # httpx
    (httpx.ConnectTimeout("x"), "UPSTREAM_TIMEOUT"),
    (httpx.ReadTimeout("x"), "UPSTREAM_TIMEOUT"),
    (httpx.PoolTimeout("x"), "UPSTREAM_TIMEOUT"),
    (httpx.ConnectError("x"), "UPSTREAM_UNREACHABLE"),
    (httpx.ReadError("x"), "UPSTREAM_UNREACHABLE"),
    (httpx.RemoteProtocolError("x"), "UPSTREAM_UNREACHABLE"),
    (http_error(401), "LLM_AUTH_FAILED"),
    (http_error(429), "LLM_RATE_LIMITED"),
    (http_error(500), "AGENT_INTERNAL"),
    # botocore
    (aws.EndpointConnectionError(endpoint_url="https://x"), "UPSTREAM_UNREACHABLE"),
    (aws.ConnectionClosedError(endpoint_url="https://x"), "UPSTREAM_UNREACHABLE"),
    (aws.ConnectTimeoutError(endpoint_url="https://x"), "UPSTREAM_TIMEOUT"),
    (aws.ReadTimeoutError(endpoint_url="https://x"), "UPSTREAM_TIMEOUT"),
    (client_error("ThrottlingException"), "LLM_RATE_LIMITED"),
    (client_error("ServiceQuotaExceededException"), "LLM_RATE_LIMITED"),
    (client_error("AccessDeniedException", 403), "LLM_AUTH_FAILED"),
    (client_error("ExpiredTokenException", 403), "LLM_AUTH_FAILED"),
    (client_error("ModelTimeoutException", 408), "UPSTREAM_TIMEOUT"),
    (client_error("ValidationException"), "AGENT_INTERNAL"),
    # the language's own
    (TimeoutError(), "UPSTREAM_TIMEOUT"),
    (ConnectionRefusedError(), "UPSTREAM_UNREACHABLE"),
    (ConnectionResetError(), "UPSTREAM_UNREACHABLE"),
    (socket.gaierror(-2, "Name or service not known"), "UPSTREAM_UNREACHABLE"),
    (OSError(113, "No route to host"), "UPSTREAM_UNREACHABLE"),
    (OSError(28, "No space left on device"), "AGENT_INTERNAL"),
    (ValueError("x"), "AGENT_INTERNAL"),
    # by name, by status, by text
    (named("httpx", "ReadTimeout"), "AGENT_INTERNAL"),
    (httpx2.ConnectTimeout("x"), "UPSTREAM_TIMEOUT"),
    (httpx2.ConnectError("x"), "UPSTREAM_UNREACHABLE"),
    (Foreign(403), "LLM_AUTH_FAILED"),
    (Foreign("403"), "AGENT_INTERNAL"),
    (Exception("Incorrect API key provided"), "LLM_AUTH_FAILED"),
    (Exception("You exceeded your current quota"), "LLM_RATE_LIMITED"),
    (Exception("request timed out"), "UPSTREAM_TIMEOUT"),
    # a number in a text says nothing
    (ValueError(f"run {RUN_ID} failed in step 403"), "AGENT_INTERNAL"),
    (KeyError("401"), "AGENT_INTERNAL"),
    # behind others
    (caused(RuntimeError("tool"), httpx.ConnectError("x")), "UPSTREAM_UNREACHABLE"),
    (caused(ValueError("timed out"), openai.RateLimitError("x", response=status(429), body=None)), "LLM_RATE_LIMITED"),
    (ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("again", [httpx.ConnectError("x")])]), "UPSTREAM_UNREACHABLE"),
]


@pytest.mark.parametrize(("exc", "code"), CODES, ids=[f"{type(e).__name__}-{i}" for i, (e, _) in enumerate(CODES)])
def test_codes(exc: BaseException, code: str) -> None:
    """Type and status first, text second, and the message is a sentence of ours."""
    assert error_code(exc) == code
    told = serialize_agent_error(exc, agent="a", thread_id="t", run_id=RUN_ID)
    assert (told["code"], told["message"], told["name"]) == (code, MESSAGES[code], type(exc).__name__)


def test_a_cause_that_was_hidden_does_not_count() -> None:
    """`raise … from None` means it."""
    error = caused(ValueError("x"), None)
    error.__context__ = TimeoutError()
    assert error_code(error) == "AGENT_INTERNAL"
    seen = ValueError("x")
    seen.__context__ = TimeoutError()
    assert error_code(seen) == "UPSTREAM_TIMEOUT"


def test_the_log_has_the_rest() -> None:
    """Four causes, 2,000 characters each; the stack 4,000; a loop of causes ends."""
    deep: BaseException = ValueError("0" * 5000)
    for number in range(1, 6):
        deep = caused(ValueError(str(number) * 5000), deep)
    told = serialize_agent_error(deep, agent="a", thread_id="t", run_id="r")["json"]
    assert (told["agent"], told["thread_id"], told["run_id"]) == ("a", "t", "r")
    assert [len(cause) for cause in told["causes"]] == [2000] * 4
    assert len(told["stack"]) == 4000
    loop = ValueError("a")
    loop.__cause__ = caused(ValueError("b"), loop)
    assert len(serialize_agent_error(loop, agent="a", thread_id="t", run_id="r")["json"]["causes"]) == 2


def test_an_exception_without_a_text() -> None:
    """A broken `__str__` does not hide the error."""

    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    told = serialize_agent_error(Broken(), agent="a", thread_id="t", run_id="r")
    assert told["code"] == "AGENT_INTERNAL"
    assert told["json"]["causes"] == ["Broken: (no text: its __str__ raises)"]
