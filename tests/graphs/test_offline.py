"""Which words make the offline model do what. The page and the end-to-end tests rely on these."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from graphs.dev.tools import fetch_user_order, get_weather
from graphs.hitl import ASK_TOOLS
from graphs.knowledge import bundled, kb_search_tool
from graphs.models import OFFLINE, OfflineModel
from graphs.offline import OfflineFailure

REACT_TOOLS = [*ASK_TOOLS, kb_search_tool(bundled())]

CALLS: list[tuple[str, list[str]]] = [
    ("Ask me something", ["ask_choice"]),
    ("Let me choose", ["ask_choice"]),
    ("问我一个问题", ["ask_choice"]),
    ("让我选择", ["ask_choice"]),
    ("Let me choose several", ["ask_multi_choice"]),
    ("multi", ["ask_multi_choice"]),
    ("多选", ["ask_multi_choice"]),
    ("Ask me to confirm", ["ask_confirm"]),
    ("请我确认", ["ask_confirm"]),
    ("Let me type in my name", ["ask_input"]),
    ("让我输入名字", ["ask_input"]),
    ("Ask two questions", ["ask_input", "ask_input"]),
    ("问两个问题", ["ask_input", "ask_input"]),
    ("How many days of annual leave are there?", ["kb_search"]),
    ("年假有几天", ["kb_search"]),
    ("hello", []),
    ("你好", []),
]


@pytest.mark.parametrize(("text", "calls"), CALLS)
async def test_words_choose_the_tool(text: str, calls: list[str]) -> None:
    """Each trigger in the table of the module, in both languages."""
    message = await OfflineModel().bind_tools(REACT_TOOLS).ainvoke([HumanMessage(text)])
    assert [call["name"] for call in message.tool_calls] == calls
    assert len({call["id"] for call in message.tool_calls}) == len(calls)


@pytest.mark.parametrize(
    ("tool", "text", "args"),
    [
        (get_weather, "Weather in New York please", {"location": "New York"}),
        (get_weather, "上海天气", {"location": "上海"}),
        (get_weather, "start demo", {"location": "Beijing"}),
        (fetch_user_order, "订单 4711", {"orderId": "4711"}),
        (fetch_user_order, "start demo", {"orderId": "10086"}),
        (kb_search_tool(bundled()), "hello", {"query": "hello"}),
    ],
)
async def test_an_only_tool_is_always_called(tool: Any, text: str, args: dict[str, Any]) -> None:
    """The small agents of dev have one tool each."""
    message = await OfflineModel().bind_tools([tool]).ainvoke([HumanMessage(text)])
    assert [call["args"] for call in message.tool_calls] == [args]


async def test_it_says_what_it_is_and_repeats_the_message() -> None:
    """Nobody takes it for a real model: its name and its text say offline."""
    message = await OfflineModel().bind_tools(REACT_TOOLS).ainvoke([HumanMessage("hello")])
    assert message.text.startswith("I am the offline model")
    assert "hello" in message.text
    assert message.response_metadata["model_name"] == OFFLINE == OfflineModel()._llm_type
    assert message.usage_metadata is not None
    assert message.usage_metadata["output_tokens"] > 10
    assert "离线模型" in (await OfflineModel().ainvoke([HumanMessage("你好")])).text


async def test_the_same_conversation_gets_the_same_answer() -> None:
    """Also its call ids."""
    first, second = [await OfflineModel().bind_tools(REACT_TOOLS).ainvoke([HumanMessage("Ask two")]) for _ in range(2)]
    assert first.tool_calls == second.tool_calls


async def test_it_counts() -> None:
    """A long answer whose length the caller chooses, for slow streams and stops."""
    assert (await OfflineModel().ainvoke([HumanMessage("Count to 7")])).text == "1 2 3 4 5 6 7"
    assert (await OfflineModel().ainvoke([HumanMessage("数到 3")])).text == "1 2 3"


async def test_it_fails_on_request_in_the_middle_of_a_word() -> None:
    """Some text came, then the exception."""
    stream = OfflineModel().astream([HumanMessage("please fail now")])
    said = ""
    while not said.endswith("in the mid"):
        said += (await anext(stream)).text
    with pytest.raises(OfflineFailure):
        await anext(stream)


@pytest.mark.parametrize(
    ("question", "results", "text"),
    [
        ("Ask two", ["用户回答：Ann", "用户回答：Paris"], "Got it: Ann\n\nGot it: Paris"),
        ("问两个", ["用户回答：小明", "用户回答：北京"], "收到，用户回答：小明\n\n收到，用户回答：北京"),
    ],
)
async def test_the_answer_reflects_every_result(question: str, results: list[str], text: str) -> None:
    """After the tools it tells what they gave, in order."""
    call = {"name": "ask_input", "args": {}, "type": "tool_call"}
    asked = AIMessage("", tool_calls=[{**call, "id": str(i)} for i in range(len(results))])
    told = [ToolMessage(result, tool_call_id=str(i), name="ask_input") for i, result in enumerate(results)]
    answer = await OfflineModel().bind_tools(REACT_TOOLS).ainvoke([HumanMessage(question), asked, *told])
    assert answer.text == text


async def test_an_empty_search_is_relayed() -> None:
    """It does not invent a source."""
    history = [
        HumanMessage("Where is Atlantis?"),
        AIMessage("", tool_calls=[{"name": "kb_search", "args": {"query": "Atlantis"}, "id": "1", "type": "tool_call"}]),
        ToolMessage("知识库中没有找到相关内容。", tool_call_id="1", name="kb_search"),
    ]
    assert (
        await OfflineModel().bind_tools(REACT_TOOLS).ainvoke(history)
    ).text == "The knowledge base has nothing on this. Try other words."
