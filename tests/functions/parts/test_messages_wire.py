"""A chat model behind the Messages API: what the CLI sends as LangChain has it, and the answer in that API's events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall

from functions.parts.messages_wire import MessagesWire, messages_of
from graphs.models import ScriptedModel
from tests.support.claude import Status

ANSWER = AIMessage(
    content=[{"type": "reasoning", "reasoning": "Hm, yes."}, {"type": "text", "text": "I look."}],
    tool_calls=[ToolCall(name="Read", args={"file_path": "a b"}, id="c1", type="tool_call")],
)


@pytest.fixture
def wire() -> Iterator[MessagesWire]:
    wire = MessagesWire(ScriptedModel(turns=[ANSWER, Status(529), Status(401), RuntimeError("x"), "Done."]))
    yield wire
    wire.close()


def ask(wire: MessagesWire) -> Any:
    client = Anthropic(base_url=wire.url, api_key="none", max_retries=0)
    tools: Any = [{"name": "Read", "input_schema": {"type": "object"}}]
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], tools=tools) as stream:
        return stream.get_final_message()


def test_anthropics_own_client_reads_it(wire: MessagesWire) -> None:
    """Thinking, text and a call, whole; a failure of the model has its status."""
    message = ask(wire)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert (message.content[0].thinking, message.content[1].text, message.content[2].input) == ("Hm, yes.", "I look.", {"file_path": "a b"})
    assert (message.stop_reason, message.content[2].id) == ("tool_use", "c1")
    for status in (529, 401, 500):
        with pytest.raises(Exception, match=f"{status}") as failed:
            ask(wire)
        assert getattr(failed.value, "status_code", None) == status
    assert ask(wire).stop_reason == "end_turn"


def test_other_paths_are_not_there(wire: MessagesWire) -> None:
    """The CLI asks for token counts too: 404 tells it to count by itself."""
    assert httpx.post(f"{wire.url}/v1/messages/count_tokens", json={}).status_code == 404
    assert httpx.head(wire.url).status_code == 200


def shown(messages: list[BaseMessage]) -> list[tuple[str, str, Any]]:
    return [(m.type, str(m.text), getattr(m, "tool_calls", None) or getattr(m, "tool_call_id", None)) for m in messages]


def test_the_conversation_without_the_clis_reminders() -> None:
    """Text as text or blocks, calls and results; what only the CLI has said is left out."""
    use = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "found"}]}
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "hi"}]},
            {"role": "system", "content": "environment"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "I look."}, use]},
            {"role": "user", "content": [result, {"type": "text", "text": "Continue from where you left off."}]},
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>y</system-reminder>"}]},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "more"},
        ]
    }
    call = {"name": "Read", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    assert shown(messages_of(body)) == [
        ("human", "hi", None),
        ("ai", "I look.", [call]),
        ("tool", "found", "c1"),
        ("ai", "Done.", None),
        ("human", "more", None),
    ]
