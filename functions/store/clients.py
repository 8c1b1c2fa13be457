"""boto3 clients with the store's timeouts, retries and pool, and the threads that use them side by side."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import boto3
import botocore
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_ssm import SSMClient

T = TypeVar("T")
R = TypeVar("R")

ASYNC_THREADS = 32
CALL_THREADS = 16
HEARTBEATS = 16
"""Leases that are renewed at one moment, each by a thread of its own."""

CONFIG = Config(
    connect_timeout=3,
    read_timeout=15,
    retries={"mode": "standard", "total_max_attempts": 6},
    max_pool_connections=ASYNC_THREADS + CALL_THREADS + HEARTBEATS,
    tcp_keepalive=True,
    user_agent=f"agent-functions boto3/{boto3.__version__} botocore/{botocore.__version__}",  # whole: botocore makes its own for each call
    parameter_validation=False,  # what is sent is made here, and checking its form again takes a twentieth of a call
)
"""Timeouts in seconds. One connection for every thread that may call: botocore throws surplus ones away after each use."""
SECRETS_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
"""A run waits for its keys no longer than this."""


def dynamodb_client(endpoint_url: str | None = None, region_name: str | None = None) -> DynamoDBClient:
    """boto3 itself reads AWS_ENDPOINT_URL, and of the names for the region AWS_DEFAULT_REGION alone: AWS_REGION is read here."""
    return boto3.session.Session().client("dynamodb", endpoint_url=endpoint_url, region_name=region_name or _region(), config=CONFIG)


def s3_client(endpoint_url: str | None = None, region_name: str | None = None) -> S3Client:
    return boto3.session.Session().client("s3", endpoint_url=endpoint_url, region_name=region_name or _region(), config=CONFIG)


def secrets_client() -> SecretsManagerClient:
    return boto3.session.Session().client("secretsmanager", region_name=_region(), config=SECRETS_CONFIG)


def ssm_client() -> SSMClient:
    return boto3.session.Session().client("ssm", region_name=_region(), config=SECRETS_CONFIG)


def _region() -> str | None:
    return os.environ.get("AWS_REGION")


class Calls:
    """Runs calls side by side. Its threads never start further ones, so a full pool cannot wait for itself."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(CALL_THREADS, thread_name_prefix="store-call")

    def each(self, call: Callable[[T], R], arguments: Sequence[T]) -> list[R]:
        """`call` for every argument, at once; results in order. The first error is raised when all have ended."""
        if len(arguments) < 2:
            return [call(argument) for argument in arguments]
        futures = [self._threads.submit(contextvars.copy_context().run, call, argument) for argument in arguments[1:]]
        try:
            first = call(arguments[0])
        finally:
            for future in futures:
                future.exception()
        return [first, *(future.result() for future in futures)]
