"""Threads whose every stream is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.agent_thread import AgentThread
from tests.support.dynamodb import bucket, dynamo, moto_client, moto_endpoint, s3
from tests.support.streams import StreamRecorder

__all__ = ["bucket", "dynamo", "moto_client", "moto_endpoint", "s3"]

NewThread = Callable[..., AgentThread]


@pytest.fixture
def thread(stream_recorder: StreamRecorder) -> NewThread:
    """`thread(graph, …)`: a client on a new thread of that graph."""

    def new(graph: Any, **settings: Any) -> AgentThread:
        return AgentThread(stream_recorder, graph, **settings)

    return new
