"""The model factory, and an OpenAI-compatible server behind it on a real socket."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from langchain.chat_models import base
from langchain_core.messages import AIMessage

from graphs.catalog import AGENTS, Deps
from graphs.models import MissingProvider, OfflineModel, at_temperature, make_model
from tests.support.chat_wire import Wire, chat_wire
from tests.support.conversation import Conversation


def test_offline_is_the_scripted_model_at_the_given_pace() -> None:
    """No package beyond the base is needed."""
    model = make_model("offline", offline_delay_ms=7)
    assert isinstance(model, OfflineModel)
    assert model.delay_ms == 7


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", ":gpt-5"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    """The error shows what a name looks like."""
    with pytest.raises(ValueError, match="provider:model"):
        make_model(name)


def test_an_unknown_provider_is_refused() -> None:
    """By LangChain, with its list."""
    with pytest.raises(ValueError, match="nobody"):
        make_model("nobody:model")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("openai:m", "langchain_openai", "openai"),
        ("deepseek:m", "langchain_deepseek", "deepseek"),
        ("anthropic:m", "langchain_anthropic", "anthropic"),
        ("bedrock_converse:m", "langchain_aws", "bedrock"),
        ("bedrock:m", "langchain_aws", "bedrock"),
    ],
)
def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch, name: str, package: str, extra: str) -> None:
    """The text is the command that helps."""
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "graphs.openai_reasoning", raising=False)
    base._get_chat_model_creator.cache_clear()  # it remembers a package that another test of this process has imported
    with pytest.raises(MissingProvider, match=f"uv sync --extra {extra}$"):
        make_model(name)


def test_a_provider_without_an_extra_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any provider of LangChain works once its package is there."""
    monkeypatch.setitem(sys.modules, "langchain_xai", None)
    with pytest.raises(MissingProvider, match="no extra of this project"):
        make_model("xai:grok")


def test_temperature_is_set_only_where_a_model_has_one() -> None:
    """Reasoning models refuse it, the offline model knows none; the model handed in is not changed."""
    plain, reasoning, offline = make_model("openai:gpt-4.1", api_key="k"), make_model("openai:gpt-5", api_key="k"), OfflineModel()
    assert at_temperature(plain, 0).temperature == 0  # type: ignore[attr-defined]
    assert plain.temperature is None  # type: ignore[attr-defined]
    assert at_temperature(reasoning, 0) is reasoning
    assert at_temperature(offline, 0) is offline


def wired(wire: Wire, **settings: Any) -> Conversation:
    model = make_model("openai:some-model", base_url=wire.url, api_key="key", max_retries=0, **settings)
    return Conversation(AGENTS["reactAgent"].build(Deps(model)))


def tool_call(arguments: str, **first: Any) -> dict[str, Any]:
    name = {"name": first.pop("name")} if "name" in first else {}
    return {"tool_calls": [{"index": 0, **first, "function": {**name, "arguments": arguments}}]}


async def test_reasoning_and_tool_calls_of_a_compatible_server_stream() -> None:
    """`reasoning_content` arrives as reasoning blocks, arguments as deltas; the final text follows the tool."""
    with chat_wire() as wire:
        wire.streams(
            [
                {"role": "assistant", "content": ""},
                {"reasoning_content": "let "},
                {"reasoning_content": "me see"},
                tool_call("", id="call_1", type="function", name="ask_input"),
                tool_call('{"mess'),
                tool_call('age": "?"}'),
            ]
        )
        talk = wired(wire)
        [asked] = await talk.say("hi")
        assert asked.value == {"type": "input", "message": "?"}
        assert talk.deltas("reasoning") == ["let ", "me see"]
        assert talk.deltas("args") == ['{"mess', 'age": "?"}']
        wire.streams([{"content": "Hel"}, {"content": "lo"}])
        await talk.answer({asked.id: {"value": "x"}})
        assert talk.deltas("text") == ["Hel", "lo"]
    first, second = wire.asked
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert (first["stream"], first["temperature"], first["stream_options"]) == (True, 0, {"include_usage": True})
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert second["messages"][2]["tool_calls"][0]["function"]["name"] == "ask_input"
    assert "reasoning" not in str(second["messages"])  # OpenAI refuses the blocks of another provider
    last = (await talk.messages())[-1]
    assert isinstance(last, AIMessage)
    assert last.usage_metadata is not None
    assert last.usage_metadata["total_tokens"] == 7


async def test_a_refusal_of_the_server_keeps_its_status() -> None:
    """The error says 401 in an attribute, for whoever classifies it; the thread goes on with the next request."""
    with chat_wire() as wire:
        wire.status, wire.answer = 401, {"error": {"message": "no such key"}}
        talk = wired(wire)
        with pytest.raises(Exception, match="no such key") as failed:
            await talk.say("hi")
        assert getattr(failed.value, "status_code", None) == 401
        wire.status = 200
        wire.streams([{"content": "back"}])
        await talk.run(None)
        assert (await talk.messages())[-1].text == "back"


async def test_outside_v3_the_message_is_whole_too() -> None:
    """Streamed chunks add up: one provider name, the reasoning and the text."""
    with chat_wire() as wire:
        wire.streams([{"role": "assistant", "content": ""}, {"reasoning": "hm"}, {"content": "Hel"}, {"content": "lo"}])
        model = make_model("openai:some-model", base_url=wire.url, api_key="key")
        chunks = [chunk async for chunk in model.astream("hi")]
    whole = sum(chunks[1:], chunks[0])
    assert whole.text == "Hello"
    assert [block["type"] for block in whole.content_blocks] == ["reasoning", "text"]
    assert whole.response_metadata["model_provider"] == "openai-compatible"
