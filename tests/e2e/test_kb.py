"""kb on the real stack: imported by one process, asked, cited and shown again by others."""

from __future__ import annotations

import json
import os
import signal

import httpx

from tests.e2e.conftest import Talk
from tests.support import agui_http
from tests.support.local_stack import Stack
from tests.support.sse import read_sse

FILE = "# Rules\n\n## Pay\n\nA trip to Mars pays 888 credits a day."
ANSWER = "“A trip to Mars pays 888 credits a day.” [Rules › Pay](/kb?doc=mars%2Frules&chunk=0)"


def post(url: str, path: str, content: str) -> list[dict[str, object]]:
    answer = httpx.post(url + path, content=content, timeout=30, trust_env=False)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_imported_asked_and_read_again_in_another_process(stack: Stack, talk: Talk) -> None:
    """A run whose worker is killed after a rejected draft was replaced: another one shows the thread with the accepted answer alone."""
    assert post(stack.agent("kb"), "kb/documents?kb=mars&name=rules.md", FILE)[-1] == {"done": {"completed": 1}}
    conversation = talk("kb")
    first = conversation.say("cite wrong: What does a trip to Mars pay?")
    assert first.outcome == "success"
    assert "a hundred days off" in first.text
    assert ANSWER in conversation.messages[-1]["content"]
    os.kill(int(first.answer.headers["x-worker-pid"]), signal.SIGKILL)
    shown = agui_http.post(f"{conversation.url}connect", conversation.input())
    assert shown.headers["x-worker-pid"] != first.answer.headers["x-worker-pid"]
    (snapshot,) = [event["messages"] for event in read_sse(shown.body) if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [message["role"] for message in snapshot] == ["user", "assistant"]
    assert ANSWER in snapshot[-1]["content"]
    assert "hundred" not in json.dumps(snapshot)
    passage = httpx.get(f"{stack.agent('reactAgent')}kb?doc=mars%2Frules&chunk=0", timeout=30, trust_env=False)
    assert passage.json()["text"].startswith("A trip to Mars")
