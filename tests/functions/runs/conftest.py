"""Threads whose every stream is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from functions.store.checkpoints import DynamoDBSaver
from tests.support.agent_thread import AgentThread
from tests.support.dynamodb import Dynamo, bucket, dynamo, moto_client, moto_endpoint, s3
from tests.support.streams import StreamRecorder

__all__ = ["bucket", "dynamo", "moto_client", "moto_endpoint", "s3"]

NewThread = Callable[..., AgentThread]


@pytest.fixture
def table(dynamo: Dynamo) -> DynamoDBSaver:
    return DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)


@pytest.fixture(params=["in memory", "in the table"])
def saver(request: pytest.FixtureRequest) -> BaseCheckpointSaver[Any]:
    """LangGraph's own, and ours."""
    found: BaseCheckpointSaver[Any] = InMemorySaver() if request.param == "in memory" else request.getfixturevalue("table")
    return found


@pytest.fixture
def thread(stream_recorder: StreamRecorder) -> NewThread:
    """`thread(graph, …)`: a client on a new thread of that graph."""

    def new(graph: Any, **settings: Any) -> AgentThread:
        return AgentThread(stream_recorder, graph, **settings)

    return new
