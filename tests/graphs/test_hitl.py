"""Six kinds of question: what goes out, what comes back, and what a wrong answer leaves open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import is_invalid_resume
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, ValidationError

from graphs import hitl
from graphs.tools import route_tools, tool_node
from tests.support.conversation import Conversation

OPTIONS = [{"label": "红色", "value": "red"}, {"label": "蓝色", "value": "blue", "description": "天空"}]


def asking(*calls: tuple[str, dict[str, Any]]) -> Conversation:
    """A graph whose model has just made these calls."""
    message = AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": f"c{i}", "type": "tool_call"} for i, (name, args) in enumerate(calls)]
    )
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [message]})
    graph.add_node("tools", tool_node(hitl.ASK_TOOLS))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route_tools("tools"), ["tools", "__end__"])
    return Conversation(graph)


ASKS = [
    (
        "ask_input",
        {"message": "名字？", "placeholder": "名"},
        {"type": "input", "message": "名字？", "placeholder": "名"},
        {"value": "小明"},
        "用户回答：小明",
    ),
    ("ask_input", {"message": "名字？"}, {"type": "input", "message": "名字？"}, {"value": ""}, "用户回答："),
    (
        "ask_choice",
        {"message": "颜色？", "options": OPTIONS},
        {"type": "select", "message": "颜色？", "options": OPTIONS},
        {"value": "red"},
        "用户选择：红色",
    ),
    (
        "ask_choice",
        {"message": "颜色？", "options": OPTIONS},
        {"type": "select", "message": "颜色？", "options": OPTIONS},
        {"value": "green"},
        "用户选择：green",
    ),
    (
        "ask_multi_choice",
        {"message": "颜色？", "options": OPTIONS},
        {"type": "multiSelect", "message": "颜色？", "options": OPTIONS},
        {"values": ["blue", "green", "red"]},
        "用户选择：蓝色, green, 红色",
    ),
    (
        "ask_multi_choice",
        {"message": "颜色？", "options": OPTIONS},
        {"type": "multiSelect", "message": "颜色？", "options": OPTIONS},
        {"values": []},
        "用户选择：",
    ),
    (
        "ask_confirm",
        {"title": "确认", "body": "继续？", "actions": ["是", "否"]},
        {"type": "modal", "title": "确认", "body": "继续？", "actions": ["是", "否"]},
        {"action": "否"},
        "用户选择：否",
    ),
]


@pytest.mark.parametrize(("tool", "args", "payload", "answer", "text"), ASKS)
async def test_a_tool_raises_its_kind_and_tells_the_model_the_answer(
    tool: str, args: dict[str, Any], payload: dict[str, Any], answer: dict[str, Any], text: str
) -> None:
    """Payload and text are those of the table, to the letter."""
    talk = asking((tool, args))
    [asked] = await talk.say("go")
    assert asked.value == payload
    assert await talk.answer({asked.id: answer}) == []
    assert (await talk.messages())[-1].text == text


@pytest.mark.parametrize(("tool", "args"), [(tool, args) for tool, args, *_ in ASKS])
async def test_a_cancelled_answer_becomes_a_sentence(tool: str, args: dict[str, Any]) -> None:
    """Each tool tells the model that the user cancelled, with the reason given or the usual one."""
    talk = asking((tool, args), (tool, args))
    first, second = await talk.say("go")
    await talk.answer({first.id: {"cancelled": True, "reason": "太忙"}, second.id: {"cancelled": True}})
    assert [message.text for message in (await talk.messages())[-2:]] == ["用户取消了回答（太忙）。", "用户取消了回答（用户取消）。"]


@pytest.mark.parametrize("wrong", ["red", None, [], {"values": ["red"]}, {"value": 5}, {"cancelled": False}], ids=repr)
async def test_a_wrong_payload_keeps_the_question_open(wrong: Any) -> None:
    """The run fails with a marked ValidationError, nothing is stored, and the right answer still works."""
    talk = asking(("ask_choice", {"message": "颜色？", "options": OPTIONS}))
    [asked] = await talk.say("go")
    with pytest.raises(ValidationError) as failed:
        await talk.answer({asked.id: wrong})
    assert is_invalid_resume(failed.value)
    assert [still.id for still in await talk.pending()] == [asked.id]
    await talk.answer({asked.id: {"value": "blue"}})
    assert (await talk.messages())[-1].text == "用户选择：蓝色"


KINDS: list[tuple[Callable[[Any], BaseModel], BaseModel, dict[str, Any], BaseModel]] = [
    (hitl.request_input, hitl.InputRequest(message="m"), {"value": "x"}, hitl.InputAnswer(value="x")),
    (hitl.request_select, hitl.SelectRequest(message="m", options=[]), {"value": "x"}, hitl.SelectAnswer(value="x")),
    (hitl.request_multi_select, hitl.MultiSelectRequest(message="m", options=[]), {"values": ["x"]}, hitl.MultiSelectAnswer(values=["x"])),
    (hitl.request_modal, hitl.ModalRequest(title="t", body="b", actions=["a"]), {"action": "a"}, hitl.ModalAnswer(action="a")),
    (hitl.request_approval, hitl.ApprovalRequest(message="m", details={}), {"approved": True}, hitl.ApprovalAnswer(approved=True)),
    (hitl.request_unlock, hitl.UnlockRequest(message="m", key="github"), {}, hitl.UnlockAnswer()),
]


def once(ask: Callable[[Any], BaseModel], request: BaseModel) -> tuple[Conversation, list[BaseModel]]:
    """A graph of one node that asks, and what it was answered."""
    answers: list[BaseModel] = []

    async def node(state: MessagesState) -> dict[str, Any]:
        answers.append(ask(request))
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return Conversation(graph), answers


@pytest.mark.parametrize(("ask", "request_", "payload", "answer"), KINDS)
async def test_the_six_kinds_give_a_validated_answer(
    ask: Callable[[Any], BaseModel], request_: BaseModel, payload: dict[str, Any], answer: BaseModel
) -> None:
    """The node gets the answer's model; the interrupt carries the JSON Schema object of answer or cancellation."""
    talk, answers = once(ask, request_)
    [asked] = await talk.say("go")
    assert asked.value == request_.model_dump(exclude_none=True)
    assert isinstance(asked.response_schema, dict)
    titles = [asked.response_schema["$defs"][ref["$ref"].rpartition("/")[2]]["title"] for ref in asked.response_schema["anyOf"]]
    assert titles == [type(answer).__name__, "Cancelled"]
    await talk.answer({asked.id: payload})
    assert answers == [answer]


@pytest.mark.parametrize(("ask", "request_"), [kind[:2] for kind in KINDS])
async def test_every_kind_can_be_cancelled(ask: Callable[[Any], BaseModel], request_: BaseModel) -> None:
    """A cancellation is never taken for an answer; of an approval it is a refusal."""
    talk, answers = once(ask, request_)
    [asked] = await talk.say("go")
    await talk.answer({asked.id: {"cancelled": True, "reason": "later"}})
    refused = hitl.ApprovalAnswer(approved=False, reason="later")
    assert answers == [refused if ask is hitl.request_approval else hitl.Cancelled(cancelled=True, reason="later")]


def test_the_ask_prompt_names_the_four_tools() -> None:
    """The prompt and the tools cannot drift apart."""
    assert all(f"{tool.name}(" in hitl.ASK_PROMPT for tool in hitl.ASK_TOOLS)


async def test_parallel_questions_never_swap_their_answers() -> None:
    """20 repeats, answered in either order, together or one by one: each call gets its own answer."""
    for repeat in range(20):
        talk = asking(("ask_input", {"message": "A"}), ("ask_input", {"message": "B"}))
        asked = {found.value["message"]: found.id for found in await talk.say("go")}
        order = ["A", "B"] if repeat % 2 else ["B", "A"]
        if repeat % 4 < 2:
            await talk.answer({asked[name]: {"value": f"{name}{repeat}"} for name in order})
        else:
            [left] = await talk.answer({asked[order[0]]: {"value": f"{order[0]}{repeat}"}})
            assert left.id == asked[order[1]]
            await talk.answer({left.id: {"value": f"{order[1]}{repeat}"}})
        assert {message.text for message in (await talk.messages())[-2:]} == {f"用户回答：A{repeat}", f"用户回答：B{repeat}"}
        by_call = {message.tool_call_id: message.text for message in (await talk.messages())[-2:] if message.type == "tool"}  # type: ignore[attr-defined]
        assert by_call == {"c0": f"用户回答：A{repeat}", "c1": f"用户回答：B{repeat}"}
