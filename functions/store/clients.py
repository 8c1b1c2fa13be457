"""AWS clients with the store's timeouts, retries and pool, and the threads that use them side by side.

They are botocore's, which boto3 hands out too: boto3 itself brings resources and S3 transfers that nothing here uses to every cold start.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import botocore
import botocore.session
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
    user_agent=f"agent-functions botocore/{botocore.__version__}",  # whole: botocore makes its own for each call
    parameter_validation=False,  # what is sent is made here, and checking its form again takes a twentieth of a call
)
"""Timeouts in seconds. One connection for every thread that may call: botocore throws surplus ones away after each use."""
SECRETS_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
"""A run waits for its keys no longer than this."""


def dynamodb_client(endpoint_url: str | None = None, region_name: str | None = None) -> DynamoDBClient:
    """botocore itself reads AWS_ENDPOINT_URL, and of the names for the region AWS_DEFAULT_REGION alone: AWS_REGION is read here."""
    client: DynamoDBClient = _client("dynamodb", CONFIG, endpoint_url, region_name)
    return client


def s3_client(endpoint_url: str | None = None, region_name: str | None = None) -> S3Client:
    client: S3Client = _client("s3", CONFIG, endpoint_url, region_name)
    return client


def secrets_client() -> SecretsManagerClient:
    client: SecretsManagerClient = _client("secretsmanager", SECRETS_CONFIG)
    return client


def ssm_client() -> SSMClient:
    client: SSMClient = _client("ssm", SECRETS_CONFIG)
    return client


def _client(service: str, config: Config, endpoint_url: str | None = None, region_name: str | None = None) -> Any:
    session = botocore.session.get_session()
    return session.create_client(service, endpoint_url=endpoint_url, region_name=region_name or region(), config=config)


def region() -> str | None:
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
