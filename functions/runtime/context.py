"""What an invocation knows about itself: the object Lambda's own runtime hands to a handler, built from the headers of `next`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """Same names as AWS's context object: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html.

    `deadline_ms` is a time in milliseconds since the epoch. `identity` and `client_context` are the JSON objects AWS sent, if any.
    """

    aws_request_id: str
    invoked_function_arn: str
    deadline_ms: int
    function_name: str = ""
    function_version: str = ""
    memory_limit_in_mb: int = 0
    log_group_name: str = ""
    log_stream_name: str = ""
    trace_id: str = ""
    tenant_id: str | None = None
    identity: Any = None
    client_context: Any = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> LambdaContext:
        """Headers of `next`, names in lower case; the rest comes from Lambda's reserved environment variables.

        Raises `ValueError` if a header is not what it should be (the client context is the caller's own text).
        """
        env = os.environ.get
        return cls(
            aws_request_id=headers["lambda-runtime-aws-request-id"],
            invoked_function_arn=headers.get("lambda-runtime-invoked-function-arn", ""),
            deadline_ms=int(headers.get("lambda-runtime-deadline-ms", "0")),
            function_name=env("AWS_LAMBDA_FUNCTION_NAME", ""),
            function_version=env("AWS_LAMBDA_FUNCTION_VERSION", ""),
            memory_limit_in_mb=int(env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "0")),
            log_group_name=env("AWS_LAMBDA_LOG_GROUP_NAME", ""),
            log_stream_name=env("AWS_LAMBDA_LOG_STREAM_NAME", ""),
            trace_id=headers.get("lambda-runtime-trace-id", ""),
            tenant_id=headers.get("lambda-runtime-aws-tenant-id"),
            identity=_json(headers.get("lambda-runtime-cognito-identity")),
            client_context=_json(headers.get("lambda-runtime-client-context")),
        )

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda stops this invocation; 0 once they are over."""
        return max(0, self.deadline_ms - int(time.time() * 1000))


def _json(text: str | None) -> Any:
    return json.loads(text) if text else None
