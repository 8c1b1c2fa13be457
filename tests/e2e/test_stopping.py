"""Ctrl-C ends everything, also when it comes at a bad moment."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Thread

import httpx
import pytest

from tests.support.agui_http import post
from tests.support.local_stack import running_stack


def ask(url: str) -> None:
    try:
        post(url, {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "hi"}]})
    except httpx.TransportError:
        return  # the stack may end before it answers: that is what the test does to it


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "after", [0.0, *(pytest.param(later, marks=pytest.mark.long) for later in (0.3, 1.0))], ids="{}s into the request".format
)
def test_ctrl_c_while_a_worker_starts(after: float, tmp_path: Path) -> None:
    """A request that waits for its first worker does not keep `agents dev` from ending, nor does the worker that would replace it."""
    with running_stack(tmp_path, "--ephemeral") as stack:
        caller = Thread(target=ask, args=[stack.agent("dev")])
        caller.start()
        time.sleep(after)
        assert stack.stop() == 0
        caller.join(10)
    assert not caller.is_alive()
