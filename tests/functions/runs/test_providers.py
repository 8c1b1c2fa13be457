"""What single providers can do besides (`test_provider_cases`): their own tools, their own statuses, over a real socket in whole runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.graph import MessagesState, StateGraph

from graphs.models import ScriptedModel, make_model
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, Run, single
from tests.support.chat_wire import Wire, chat_wire


@pytest.fixture
def wire() -> Iterator[Wire]:
    with chat_wire() as served:
        yield served


def openai(wire: Wire) -> Any:
    return make_model("openai:wire", base_url=wire.url, api_key="k", max_retries=0)


def anthropic(wire: Wire) -> Any:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    url = wire.url.removesuffix("/v1")
    return make_model("anthropic:claude-wire", base_url=url, api_key="k", max_retries=0, max_tokens=2048, thinking=thinking)


def asking(model: Any, *, direct: bool = False) -> StateGraph[Any, Any, Any, Any]:
    async def node(state: MessagesState) -> Json:
        if not direct:
            return {"messages": [await model.ainvoke(state["messages"])]}
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        return {"messages": [sum(chunks[1:], chunks[0])]}

    return single(node)


def sse(*events: Json) -> list[str]:
    """Anthropic's frames: the event's name, then its data."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def block(index: int, content: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def message(*events: Json, stop: str = "end_turn") -> list[str]:
    """One of Anthropic's messages; it costs 5 tokens, 100 read from its cache and 7 written to it."""
    usage: Json = {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
    start: Json = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-wire", "stop_reason": None}
    return sse(
        {"type": "message_start", "message": {**start, "stop_sequence": None, "usage": usage}},
        *events,
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {**usage, "output_tokens": 9}},
        {"type": "message_stop"},
    )


THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Let me"},
    {"type": "thinking_delta", "thinking": " see."},
    {"type": "signature_delta", "signature": "c2ln"},
)
SEARCH = [
    *block(
        1,
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"query":'},
        {"type": "input_json_delta", "partial_json": ' "tea"}'},
    ),
    *block(
        2,
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {"type": "web_search_result", "url": "https://tea.example", "title": "Tea", "encrypted_content": "e", "page_age": None}
            ],
        },
    ),
]


def said(index: int, *pieces: str) -> list[Json]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def said_deltas(run: Run, kind: str) -> list[str]:
    return [e["delta"] for e in run.of(f"{kind}_CONTENT")]


@pytest.mark.parametrize("direct", [False, True])
async def test_a_providers_search(direct: bool, wire: Wire, thread: NewThread) -> None:
    """Thinking, a web search on Anthropic's side with its result, then text: in the stream and in the snapshot; usage with the cache."""
    wire.done, wire.answer = False, message(*THINKING, *SEARCH, *said(3, "Tea."))
    model = anthropic(wire).bind_tools([{"type": "web_search_20250305", "name": "web_search"}])
    talk = thread(asking(model, direct=direct))
    run = await talk.say("x")
    (call,) = run.of("TOOL_CALL_START")
    assert (call["toolCallId"], call["toolCallName"]) == ("srvtoolu_1", "web_search")
    assert json.loads("".join(e["delta"] for e in run.of("TOOL_CALL_ARGS"))) == {"query": "tea"}
    assert "https://tea.example" in run.results["srvtoolu_1"]
    assert [m["role"] for m in run.snapshot] == ["user", "reasoning", "assistant", "tool"]
    assert run.snapshot[3]["id"] == run.of("TOOL_CALL_RESULT")[0]["messageId"]
    (usage,) = run.end["usage"]
    assert {k: v for k, v in usage.items() if k != "totalTokens"} == {
        "provider": "anthropic",
        "model": "claude-wire",
        "inputTokens": 112,
        "outputTokens": 9,
        "cachedInputTokens": 100,
        "cacheWriteInputTokens": 7,
    }
    wire.answer = message(*said(0, "More tea."))
    await talk.say("and")
    assert "srvtoolu_1" in json.dumps(wire.asked[-1]["messages"])


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (403, "permission_error", "LLM_AUTH_FAILED"),
        (529, "overloaded_error", "LLM_RATE_LIMITED"),
        (504, "timeout_error", "UPSTREAM_TIMEOUT"),
        (400, "invalid_request_error", "AGENT_INTERNAL"),
    ],
)
@pytest.mark.parametrize("provider", [openai, anthropic])
async def test_refusals(provider: Any, status: int, kind: str, code: str, wire: Wire, thread: NewThread) -> None:
    """The SDK's own exceptions, as they come out of a run; the provider's words stay in the log."""
    wire.status, wire.answer = status, {"type": "error", "error": {"type": kind, "message": "key sk-123 of db-7.internal"}}
    run = await thread(asking(provider(wire))).say("x")
    assert run.outcome == code
    assert "sk-123" not in json.dumps(run.events)


@pytest.mark.parametrize("provider", [openai, anthropic])
async def test_nobody_there(provider: Any, thread: NewThread) -> None:
    """A refused connection, in the SDK's own exception."""
    run = await thread(asking(provider(Wire(url="http://127.0.0.1:9/v1")))).say("x")
    assert run.outcome == "UPSTREAM_UNREACHABLE"


RESPONSES = {"model_provider": "openai", "output_version": "responses/v1"}
OPENAI_BLOCKS: list[Json] = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "index": 0},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tea"}, "index": 1},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGk=", "output_format": "png", "index": 2},
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "1+1",
        "outputs": [{"type": "logs", "logs": "2"}],
        "index": 3,
    },
    {"type": "mcp_approval_request", "id": "ma_1", "arguments": "{}", "index": 4},
    {
        "type": "text",
        "text": "Tea.",
        "annotations": [{"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 3}],
        "index": 5,
    },
]


@pytest.mark.parametrize("how", ["whole", "ainvoke", "astream"])
async def test_openai_does_it_itself(how: str, thread: NewThread) -> None:
    """Blocks of OpenAI's Responses API, as LangChain stores them: searches and code as calls with results, an image as an activity."""
    chunks = [AIMessageChunk(content=[block], response_metadata=RESPONSES) for block in OPENAI_BLOCKS]
    model = ScriptedModel(turns=[chunks])

    async def whole(state: MessagesState) -> Json:
        return {"messages": [AIMessage(OPENAI_BLOCKS, response_metadata=RESPONSES, id="m1")]}  # type: ignore[arg-type]

    talk = thread(single(whole) if how == "whole" else asking(model, direct=how == "astream"))
    run = await talk.say("x")
    assert run.outcome == "success"
    assert [e["toolCallName"] for e in run.of("TOOL_CALL_START")] == ["web_search", "code_interpreter"]
    assert {e["toolCallId"] for e in run.of("TOOL_CALL_RESULT")} == {"ws_1", "ci_1"}
    (image,) = run.of("ACTIVITY_SNAPSHOT")
    assert image["content"] == {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    assert run.text == "Tea."
    assert [m["role"] for m in run.snapshot] == ["user", "reasoning", "assistant", "tool", "tool"]
    assert run.snapshot[2]["content"] == "Tea."
