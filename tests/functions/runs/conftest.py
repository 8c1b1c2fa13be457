"""Threads whose every stream is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.agent_thread import AgentThread
from tests.support.streams import StreamRecorder

NewThread = Callable[..., AgentThread]


@pytest.fixture
def thread(stream_recorder: StreamRecorder) -> NewThread:
    """`thread(graph, …)`: a client on a new thread of that graph."""

    def new(graph: Any, **settings: Any) -> AgentThread:
        return AgentThread(stream_recorder, graph, **settings)

    return new
