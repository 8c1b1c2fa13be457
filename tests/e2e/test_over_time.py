"""Events reach the caller while the model is still speaking, and threads outlive the stack."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from tests.support.agui_http import Conversation
from tests.support.local_stack import running_stack
from tests.support.streams import StreamRecorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]  # each test starts stacks of its own, which a busy machine makes slow
DELAY = 0.06  # seconds before each token of the slow model


def test_events_arrive_as_they_are_made(tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """Through worker and function URL, the first event comes before the model has spoken, and the tokens come one by one."""
    with running_stack(tmp_path, "--ephemeral", AGENTS_OFFLINE_DELAY_MS=str(int(DELAY * 1000))) as stack:
        conversation = Conversation(stack.agent("reactAgent"), stream_recorder)
        conversation.say("count to 2")  # the worker is warm after this
        arrivals = conversation.say("count to 25").answer.arrivals()
    spoken = [when for when, kind in arrivals if kind == "TEXT_MESSAGE_CONTENT"]
    gaps = [later - earlier for earlier, later in pairwise(spoken)]
    assert arrivals[0][1] == "RUN_STARTED"
    assert spoken[0] - arrivals[0][0] > DELAY / 2
    assert len(gaps) >= 20
    assert DELAY / 2 < median(gaps) < DELAY * 2
    assert max(gaps) < spoken[-1] / 4, "tokens were held back and sent in one burst"


@pytest.mark.parametrize("ending", ["ctrl-c", "killed"])
def test_threads_outlive_the_stack(ending: str, tmp_path: Path, stream_recorder: StreamRecorder) -> None:
    """A thread that waits for an answer is there after a restart, readable and resumable, also if the stack was killed."""
    with running_stack(tmp_path) as stack:
        conversation = Conversation(stack.agent("dev"), stream_recorder)
        asked = conversation.say("start demo")
        before = conversation.stored()
        if ending == "killed":
            stack.process.kill()
        else:
            assert stack.stop() == 0
    with running_stack(tmp_path) as stack:
        conversation.url = stack.agent("dev")
        assert conversation.stored() == before
        assert [interrupt["id"] for interrupt in before["interrupts"]] == [interrupt["id"] for interrupt in asked.interrupts]
        assert conversation.resume({asked.interrupts[0]["id"]: {"value": "hitlDemo"}}).interrupts[0]["metadata"]["type"] == "input"
