"""The side-channel completion against a server on a real socket."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from langgraph.graph import START, MessagesState, StateGraph

from graphs.completion import CompletionFailed, Endpoint, Mode, Prompt, run_chat_completion
from tests.support.chat_wire import Wire, chat_wire
from tests.support.conversation import Conversation

PROMPT = Prompt(system="be brief", user="hi", mode="streamReasoning")


def endpoint(wire: Wire, **settings: Any) -> Endpoint:
    return Endpoint(**{"base_url": wire.url, "model": "m", "api_key": "key", **settings})


async def in_a_node(config: Endpoint, prompt: Prompt) -> tuple[str, list[dict[str, Any]]]:
    """The text, and the native events that the node's writer got; an exception is returned as its text."""
    texts: list[str] = []

    async def node(state: MessagesState) -> dict[str, Any]:
        try:
            texts.append(await run_chat_completion(config, prompt))
        except (CompletionFailed, TimeoutError, ValueError) as error:
            texts.append(repr(error))
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    await (talk := Conversation(graph)).say("go")
    records = [data for method, data in talk.events if method == "custom"]
    assert all(record["name"] == "agui" for record in records)
    return texts[0], [record["payload"] for record in records]


async def test_silent_returns_the_trimmed_text_and_emits_nothing() -> None:
    """One request as OpenAI's API takes it; the key travels in the header."""
    with chat_wire() as wire:
        wire.answer = {"choices": [{"message": {"content": " hello \n", "reasoning_content": "hm"}}]}
        assert await in_a_node(endpoint(wire), replace(PROMPT, mode="silent", temperature=0)) == ("hello", [])
        [asked] = wire.asked
    assert asked["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    assert (asked["model"], asked["temperature"], asked["stream"]) == ("m", 0, False)
    assert wire.headers[0]["authorization"] == "Bearer key"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_streamed_and_the_text_is_not(field: str) -> None:
    """START on the first thought, END before the content; the content only accumulates."""
    with chat_wire() as wire:
        wire.streams([{"role": "assistant", "content": ""}, {field: "let "}, {field: "me"}, {"content": " a"}, {"content": "b "}])
        text, events = await in_a_node(endpoint(wire), PROMPT)
    assert text == "ab"
    assert [(event["type"].removeprefix("REASONING_MESSAGE_"), event.get("delta")) for event in events] == [
        ("START", None),
        ("CONTENT", "let "),
        ("CONTENT", "me"),
        ("END", None),
    ]
    assert len({event["messageId"] for event in events}) == 1
    assert events[0]["role"] == "reasoning"


@pytest.mark.parametrize(
    ("deltas", "kinds"),
    [
        ([{"content": "a"}], []),
        ([{"reasoning": "x"}], ["START", "CONTENT", "END"]),
        ([{"reasoning": "x"}, {"content": "a"}, {"reasoning": "y"}], ["START", "CONTENT", "END", "START", "CONTENT", "END"]),
    ],
)
async def test_what_is_opened_is_closed(deltas: list[dict[str, Any]], kinds: list[str]) -> None:
    """Without content too; later thoughts are a message of their own."""
    with chat_wire() as wire:
        wire.streams(deltas)
        _, events = await in_a_node(endpoint(wire), PROMPT)
    assert [event["type"].removeprefix("REASONING_MESSAGE_") for event in events] == kinds
    assert len({event["messageId"] for event in events}) == kinds.count("START")


async def test_a_stream_that_breaks_closes_its_reasoning() -> None:
    """A frame that is no JSON raises; END came before."""
    with chat_wire() as wire:
        wire.answer = [{"choices": [{"delta": {"reasoning": "x"}}]}, "data: {broken\n\n"]
        text, events = await in_a_node(endpoint(wire), PROMPT)
    assert text.startswith("JSONDecodeError")
    assert events[-1]["type"] == "REASONING_MESSAGE_END"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "slow down"}, 429),
        ({"code": "503", "message": "busy"}, 503),
        ({"code": "server_error"}, 502),
        ({"code": 7}, 502),
        ("boom", 502),
    ],
)
async def test_an_error_in_an_answer_is_an_error(error: Any, status: int) -> None:
    """Alone or in the middle of a stream: the status is its code where that is one. What reasoned is closed."""
    with chat_wire() as wire:
        wire.answer = {"error": error}
        with pytest.raises(CompletionFailed) as silent:
            await run_chat_completion(endpoint(wire), replace(PROMPT, mode="silent"))
        wire.answer = [{"choices": [{"delta": {"reasoning": "x"}}]}, {"error": error}]
        text, events = await in_a_node(endpoint(wire), PROMPT)
    assert silent.value.status_code == status
    assert text.startswith(f"CompletionFailed('chat completion (streamReasoning) failed with status {status}")
    assert events[-1]["type"] == "REASONING_MESSAGE_END"


@pytest.mark.parametrize(
    ("finish", "done", "whole"),
    [(None, False, False), ("stop", False, True), ("length", True, False), ("content_filter", False, False), (None, True, True)],
)
async def test_half_a_stream_is_an_error(finish: str | None, done: bool, whole: bool) -> None:
    """Complete is what has a finish reason or `[DONE]`; a connection that closes without either cut the answer, and so did the
    provider's own limit: half a rewritten document would read as the deletion of its rest."""
    with chat_wire() as wire:
        wire.done = done
        wire.answer = [{"choices": [{"delta": {"content": "half"}, "finish_reason": finish}]}]
        text, _ = await in_a_node(endpoint(wire), PROMPT)
    assert text == "half" if whole else text.startswith("CompletionFailed")


async def test_only_line_feeds_end_lines() -> None:
    """JSON may hold U+2028, U+2029 and U+0085 as they are; characters cut by a packet are whole again."""
    said = "a\u2028b\u2029c\u0085d\u4f60"
    with chat_wire() as wire:
        choice = {"choices": [{"delta": {"content": said}, "finish_reason": "stop"}]}
        wire.answer = [f"data: {json.dumps(choice, ensure_ascii=False)}\r\n\r\n"]
        text, _ = await in_a_node(endpoint(wire), PROMPT)
    assert text == said


@pytest.mark.parametrize("mode", ["silent", "streamReasoning"])
@pytest.mark.parametrize("status", [302, 401, 429, 500])
async def test_another_status_is_an_error_that_names_it(mode: Mode, status: int) -> None:
    """Mode, status and the first 200 characters of the body."""
    with chat_wire() as wire:
        wire.status, wire.answer = status, "x" * 150 + "y" * 150
        with pytest.raises(CompletionFailed) as failed:
            await run_chat_completion(endpoint(wire), replace(PROMPT, mode=mode))
    assert str(failed.value) == f"chat completion ({mode}) failed with status {status}: {'x' * 150}{'y' * 50}"
    assert (failed.value.status_code, failed.value.mode) == (status, mode)


async def test_it_has_a_timeout() -> None:
    """Of the whole call, though single frames keep coming."""
    with chat_wire() as wire:
        wire.streams([{"reasoning": "x"}] * 100)
        wire.pause = 0.05
        text, events = await in_a_node(endpoint(wire, timeout=1.5), PROMPT)
    assert text == "TimeoutError()"
    assert events[-1]["type"] == "REASONING_MESSAGE_END"


async def test_it_is_cancelled_with_its_task() -> None:
    """The provider sees the connection close in the middle of the answer."""
    with chat_wire() as wire:
        wire.streams([{"content": "x" * 10_000}] * 200)
        wire.pause = 0.02
        task = asyncio.create_task(run_chat_completion(endpoint(wire), PROMPT))
        assert await asyncio.to_thread(wire.begun.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(wire.hung_up.wait, 20)


async def test_an_empty_answer_and_no_graph_are_fine() -> None:
    """No choices give an empty text; outside a graph nobody listens; without a key no header is sent."""
    with chat_wire() as wire:
        wire.answer = {"choices": []}
        assert await run_chat_completion(endpoint(wire, api_key=""), replace(PROMPT, mode="silent")) == ""
        wire.streams([{"reasoning": "x"}, {"content": "a"}])
        assert await run_chat_completion(endpoint(wire), PROMPT) == "a"
    assert "authorization" not in wire.headers[0]


async def test_no_server_is_a_transport_error() -> None:
    """The caller classifies it by its class."""
    with chat_wire() as wire:
        pass
    with pytest.raises(httpx.ConnectError):
        await run_chat_completion(endpoint(wire), PROMPT)


def test_the_key_is_not_in_the_repr() -> None:
    """It cannot reach a log by accident."""
    assert "secret" not in repr(Endpoint("http://x", "m", "secret"))
