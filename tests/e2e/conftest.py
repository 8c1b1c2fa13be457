"""One local stack for the end-to-end tests, as `agents dev` starts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.agui_http import Conversation
from tests.support.local_stack import Stack, running_stack
from tests.support.streams import StreamRecorder

Talk = Callable[..., Conversation]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A running stack that forgets its data at the end."""
    with running_stack(tmp_path_factory.mktemp("stack"), "--ephemeral") as running:
        yield running


@pytest.fixture
def talk(stack: Stack, stream_recorder: StreamRecorder) -> Talk:
    """`talk("dev")`: a new conversation with that agent; every stream of it is recorded and checked."""
    return lambda agent, **more: Conversation(stack.agent(agent), stream_recorder, **more)
