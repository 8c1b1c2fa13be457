"""The tool loop with a scripted model, and the offline model in it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import ToolException, tool
from langgraph.errors import GraphRecursionError

from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel, make_model
from tests.support.conversation import Conversation


def calling(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": f"c{i}", "type": "tool_call"} for i, (name, args) in enumerate(calls)]
    )


def react(model: BaseChatModel, *, tools: Any = None, recursion_limit: int = 50, **configurable: Any) -> Conversation:
    return Conversation(AGENTS["reactAgent"].build(Deps(model, tools=tools)), recursion_limit=recursion_limit, **configurable)


async def test_tools_run_until_the_model_answers() -> None:
    """Two rounds of tools, then the text; every call has its result before the model is asked again."""
    model = ScriptedModel(turns=[calling(("kb_search", {"query": "年假"})), calling(("kb_search", {"query": "annual leave"})), "done"])
    talk = react(model)
    assert await talk.say("hi") == []
    assert [message.type for message in await talk.messages()] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert "/kb?doc=leave-policy-zh&chunk=1" in model.calls[1][-1].text
    assert model.calls[2][-1].text.startswith("找到")


async def test_the_system_prompt_is_joined_and_not_stored() -> None:
    """User prompt, ask prompt and knowledge prompt, joined by `---`; a history with its own keeps it."""
    model = ScriptedModel(turns=["one", "two", "three"])
    await (with_prompt := react(model, userPrompt="Be brief.")).say("hi")
    await react(model).say("hi")
    await react(model).run({"messages": [("system", "mine"), ("user", "hi")]})
    first, second, third = (call[0].text for call in model.calls)
    assert first == f"Be brief.\n\n---\n\n{second}"
    assert [part.split("\n")[0][:3] for part in second.split("\n\n---\n\n")] == ["你可以", "知识库"]
    assert third == "mine"
    assert [message.type for message in await with_prompt.messages()] == ["human", "ai"]


async def test_the_knowledge_base_comes_from_the_configuration() -> None:
    """The model cannot choose it; an unknown one holds nothing."""
    for kb_id, found in (("handbook", True), ("product", False), ("someone-elses", False)):
        model = ScriptedModel(turns=[calling(("kb_search", {"query": "annual leave carry over", "kbId": "handbook"})), "done"])
        await (talk := react(model, kbId=kb_id)).say("hi")
        assert ("leave-policy" in (await talk.messages())[2].text) is found


async def test_a_failing_tool_becomes_a_result() -> None:
    """Wrong arguments and a ToolException are told as they are; of any other error only its class."""

    @tool
    async def secretive(host: str) -> str:
        """Fails."""
        raise ToolException("try later") if host == "a" else OSError(f"cannot reach {host}.internal")

    calls = calling(("secretive", {"host": "a"}), ("secretive", {"host": "db"}), ("secretive", {}))
    talk = react(ScriptedModel(turns=[calls, "done"]), tools=[secretive])
    await talk.say("hi")
    told, hidden, wrong = (await talk.messages())[2:5]
    assert told.text == "try later"
    assert hidden.text == "Error: the tool failed (OSError)."
    assert "host" in wrong.text
    assert (await talk.messages())[-1].text == "done"


async def test_a_question_and_a_search_in_one_turn() -> None:
    """The search is done while the question waits; on resume it does not run again, and both results are there."""
    runs: list[str] = []

    @tool
    async def kb_search(query: str) -> str:
        """Counts."""
        runs.append(query)
        return "found"

    model = ScriptedModel(turns=[calling(("ask_input", {"message": "?"}), ("kb_search", {"query": "q"})), "done"])
    talk = react(model, tools=[kb_search])
    [asked] = await talk.say("hi")
    await talk.answer({asked.id: {"value": "x"}})
    assert runs == ["q"]
    assert sorted(message.text for message in model.calls[1] if message.type == "tool") == ["found", "用户回答：x"]


@pytest.mark.parametrize(("limit", "enough"), [(1, False), (3, False), (4, True)])
async def test_the_step_limit_counts_nodes(limit: int, enough: bool) -> None:
    """One tool round takes three steps (agent, tools, agent), and LangGraph wants one in hand to see that it is done."""
    talk = react(ScriptedModel(turns=[calling(("kb_search", {"query": "q"})), "done"]), recursion_limit=limit)
    if enough:
        await talk.say("hi")
    else:
        with pytest.raises(GraphRecursionError):
            await talk.say("hi")


async def test_a_model_that_fails_in_the_middle_leaves_the_thread_usable() -> None:
    """Half a word was streamed, the run raises, nothing of it is stored, the next run answers."""
    broken = [AIMessageChunk(content="Hal"), ConnectionError("gone")]
    talk = react(ScriptedModel(turns=[broken, "whole"]))
    with pytest.raises(ConnectionError):
        await talk.say("hi")
    assert talk.deltas("text") == ["Hal"]
    await talk.run(None)
    assert [message.text for message in await talk.messages()] == ["hi", "whole"]


async def test_offline_it_searches_and_cites() -> None:
    """Reasoning, arguments and text come in pieces; the answer holds the tool's own link."""
    talk = react(make_model("offline"))
    await talk.say("How many days of annual leave are there?")
    assert "](/kb?doc=leave-policy-en&chunk=1)" in (await talk.messages())[-1].text
    assert all(len(talk.deltas(kind)) > 10 for kind in ("reasoning", "args", "text"))


async def test_offline_it_asks_then_searches_for_the_answer() -> None:
    """One turn: a question, the search for what was chosen, the cited answer."""
    talk = react(make_model("offline"))
    [asked] = await talk.say("Ask me for a topic, then search")
    assert asked.value["type"] == "select"
    await talk.answer({asked.id: {"value": "expenses"}})
    assert [message.type for message in await talk.messages()] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert "](/kb?doc=travel-expenses&chunk=" in (await talk.messages())[-1].text
