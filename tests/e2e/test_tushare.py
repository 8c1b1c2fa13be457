"""tushare on the whole stack."""

from __future__ import annotations

import os
import signal

from tests.e2e.conftest import Talk
from tests.support.agui_http import Run


def worker(run: Run) -> int:
    return int(run.answer.headers["x-worker-pid"])


def test_a_choice_is_answered_in_another_process(talk: Talk) -> None:
    """The worker that asked is killed; the next one takes the answer, looks the name up again and fetches the chosen stock's data."""
    conversation = talk("tushare")
    asked = conversation.say("平安最近三天的量价")
    assert [option["value"] for option in asked.interrupts[0]["metadata"]["options"]] == ["000001.SZ", "601318.SH"]
    os.kill(worker(asked), signal.SIGKILL)
    done = conversation.resume({asked.interrupts[0]["id"]: {"value": "601318.SH"}})
    assert worker(done) != worker(asked)
    assert [call["toolCallName"] for call in done.of("TOOL_CALL_START")] == ["daily", "daily_basic"]
    assert (done.outcome, "中国平安（601318.SH）" in done.text, "示例数据" in done.text) == ("success", True, True)
