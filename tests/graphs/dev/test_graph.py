"""The demo: six requests without a model, and the three small agents."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel, make_model
from tests.support.conversation import Conversation

CANCEL = {"cancelled": True, "reason": "算了"}


def demo(model: BaseChatModel | None = None, **deps: Any) -> Conversation:
    return Conversation(AGENTS["dev"].build(Deps(model, **deps)))


async def answer_all(talk: Conversation, answers: list[Any]) -> list[str]:
    """Starts the demo and gives one answer for each request; the interrupt types seen."""
    open_ = await talk.say("start demo", input="start demo")
    kinds = []
    for answer in answers:
        [asked] = open_
        kinds.append(asked.value["type"])
        open_ = await talk.answer({asked.id: answer})
    assert open_ == []
    return kinds


DEMO = [{"value": "hitlDemo"}, {"value": "清理"}, {"value": "high"}, {"values": ["audit", "notify"]}, {"approved": True}]
KINDS = ["select", "input", "select", "multiSelect", "approval"]


async def test_six_requests_lead_to_an_approved_action() -> None:
    """One start and five resumes; exactly two messages; the result repeats what was answered."""
    talk = demo()
    assert await answer_all(talk, DEMO) == KINDS
    state = await talk.state()
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert state["messages"][-1].text.startswith("已批准执行")
    assert state["result"] == {
        "status": "approved",
        "action": "execute_tool",
        "toolInput": "start demo",
        "userPurpose": "清理",
        "priority": "high",
        "extras": ["audit", "notify"],
    }


async def test_no_extras_are_an_answer() -> None:
    """`values: []` goes through to the result."""
    talk = demo()
    await answer_all(talk, [*DEMO[:3], {"values": []}, {"approved": True}])
    assert (await talk.state())["result"]["extras"] == []


async def test_the_approval_lists_what_it_is_about() -> None:
    """Its details hold all four values that the action would use."""
    talk = demo()
    open_ = await talk.say("start demo", input="start demo")
    for answer in DEMO[:4]:
        open_ = await talk.answer({open_[0].id: answer})
    assert open_[0].value["details"] == {
        "toolInput": "start demo",
        "userPurpose": "清理",
        "priority": "high",
        "extras": ["audit", "notify"],
    }


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([*DEMO[:4], {"approved": False, "reason": "太贵"}], "已拒绝：太贵"),
        ([*DEMO[:4], {"approved": False}], "已拒绝：未说明原因"),
        ([*DEMO[:4], CANCEL], "已拒绝：算了"),
        ([*DEMO[:3], CANCEL], "已拒绝：算了"),
        ([*DEMO[:2], CANCEL], "已拒绝：算了"),
        ([*DEMO[:1], {"cancelled": True}], "已拒绝：用户取消"),
    ],
)
async def test_a_refusal_or_a_cancellation_ends_in_a_rejection(answers: list[Any], text: str) -> None:
    """Whatever question is closed, the action is not run and the text says why."""
    talk = demo()
    assert await answer_all(talk, answers) == KINDS[: len(answers)]
    state = await talk.state()
    assert state["messages"][-1].text == text
    assert state["result"] == {"status": "rejected", "reason": text.removeprefix("已拒绝：")}


@pytest.mark.parametrize("answer", [{"value": "nonsense"}, CANCEL])
async def test_an_answer_outside_the_options_means_the_weather(answer: Any) -> None:
    """A short note, then the weather agent; without a model that one says what it lacks."""
    talk = demo()
    assert await answer_all(talk, [answer]) == ["select"]
    assert [message.text for message in await talk.messages()][1:] == [
        "没有这个选项，先为你查天气。",
        "这条路径需要聊天模型，当前没有配置。",
    ]


async def test_a_set_intent_is_not_asked_for() -> None:
    """State from the client skips the first question."""
    talk = demo()
    [asked] = await talk.say("start demo", devIntent="hitlDemo")
    assert asked.value["type"] == "input"


@pytest.mark.parametrize("intent", ["nonsense", None, [], {"a": 1}, 5])
async def test_an_unusable_intent_is_asked_for(intent: Any) -> None:
    """A client's state may hold anything."""
    [asked] = await demo().say("start demo", devIntent=intent)
    assert asked.value["type"] == "select"


async def test_the_order_tool_reports_its_progress() -> None:
    """Offline model, order path: one custom event, then an answer from the tool's result."""
    talk = demo(make_model("offline"))
    await talk.say("Where is order 4711?", devIntent="simpleTool")
    assert ("custom", {"name": "order_tool_progress", "payload": {"orderId": "4711", "step": "dispatch"}}) in talk.events
    assert "4711" in (await talk.messages())[-1].text


async def test_the_knowledge_path_cites() -> None:
    """Offline model, knowledge path: the answer holds the link that the tool gave."""
    talk = demo(make_model("offline"))
    await talk.say("年假有几天？", devIntent="kb")
    assert "](/kb?doc=leave-policy-zh&chunk=" in (await talk.messages())[-1].text


async def test_the_weather_path_uses_the_tool_it_is_given() -> None:
    """`Deps.tools` replaces the tool of the same name; the location comes from the message."""

    @tool
    async def get_weather(location: str) -> str:
        """Canned."""
        return f"{location}: 21°C"

    talk = demo(make_model("offline"), tools=[get_weather])
    await talk.say("What is the weather in Berlin?", devIntent="weather")
    assert "Berlin: 21°C" in (await talk.messages())[-1].text


async def test_a_history_that_starts_with_a_system_message_gets_no_second_one() -> None:
    """The prompt is put in front at call time and never stored."""
    model = ScriptedModel(turns=["one", "two"])
    plain, own = demo(model), demo(model)
    await plain.say("hi", devIntent="weather")
    await own.run({"messages": [("system", "mine"), ("user", "hi")], "devIntent": "weather"})
    assert [[message.type for message in call] for call in model.calls] == [["system", "human"]] * 2
    assert model.calls[1][0].text == "mine"
    assert [message.type for message in await plain.messages()] == ["human", "ai"]


async def test_an_unknown_tool_does_not_end_the_run() -> None:
    """The model reads that there is no such tool."""
    wrong = AIMessage("", tool_calls=[{"name": "nope", "args": {}, "id": "c", "type": "tool_call"}])
    talk = demo(ScriptedModel(turns=[wrong, "done"]))
    await talk.say("hi", devIntent="weather")
    assert [message.type for message in await talk.messages()] == ["human", "ai", "tool", "ai"]
