"""`functions.runtime.context`."""

from __future__ import annotations

import time

import pytest

from functions.runtime.context import LambdaContext
from tests.support.events import CONTEXT_HEADERS


def test_from_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers of `next` and Lambda's environment make AWS's context object."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "dev")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
    headers = {**CONTEXT_HEADERS, "lambda-runtime-client-context": '{"a": 1}', "lambda-runtime-invoked-function-arn": "arn"}
    context = LambdaContext.from_headers(headers)
    assert (context.aws_request_id, context.function_name, context.memory_limit_in_mb) == ("req-1", "dev", 512)
    assert (context.client_context, context.invoked_function_arn, context.identity) == ({"a": 1}, "arn", None)


@pytest.mark.parametrize(("seconds", "low", "high"), [(10, 9_000, 10_000), (-10, 0, 0)])
def test_remaining_time(seconds: float, low: int, high: int) -> None:
    """Milliseconds to the deadline, never below zero."""
    context = LambdaContext("r", "arn", int((time.time() + seconds) * 1000))
    assert low <= context.get_remaining_time_in_millis() <= high


def test_bad_client_context() -> None:
    """The client context is the caller's text: a bad one is a `ValueError`, which the loop reports."""
    with pytest.raises(ValueError, match="Expecting"):
        LambdaContext.from_headers({**CONTEXT_HEADERS, "lambda-runtime-client-context": "{"})
