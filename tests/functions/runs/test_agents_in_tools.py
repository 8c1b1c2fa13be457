"""`create_agent` as the graph itself and as sub-agents that a `task` tool runs: who said what, on behalf of which call."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Run, calling, resolved
from tests.support.small_graphs import text

Sub = dict[str, Any]


class Agent:
    """A `create_agent` where a test thread expects a builder."""

    def __init__(self, turns: list[Any], *tools: Any, name: str = "main") -> None:
        self.model = ScriptedModel(turns=turns)
        self._tools, self._name = tools, name

    def compile(self, *, checkpointer: Any = None) -> Any:
        return create_agent(self.model, list(self._tools), name=self._name, checkpointer=checkpointer)


@tool
def ask_person(q: str) -> str:
    """Asks."""
    return f"they said {interrupt({'message': q})}"


def task_tool(**agents: Any) -> BaseTool:
    """As `deepagents` has it: runs the named agent on a description, and answers with its last words."""

    @tool
    async def task(description: str, subagent_type: str) -> str:
        """Hand a task to a sub-agent."""
        done = await agents[subagent_type].ainvoke({"messages": [("user", description)]})
        return str(done["messages"][-1].text)

    return task


def tasks(*given: tuple[str, str]) -> Any:
    """A turn that hands out tasks: (agent, description)."""
    return calling(
        *[("task", {"description": what, "subagent_type": who}) for who, what in given], ids=[f"t{i}" for i in range(len(given))]
    )


def sub_agent(name: str, *turns: Any, tools: tuple[Any, ...] = ()) -> Any:
    return create_agent(ScriptedModel(turns=list(turns)), list(tools), name=name)


def said_by(run: Run, owner: str | None) -> str:
    return "".join(e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT") if e.get("subagentRunId") == owner)


def started(run: Run) -> dict[str, Sub]:
    """SUBAGENT_STARTED by the call it works for."""
    return {e["parentToolCallId"]: e for e in run.of("SUBAGENT_STARTED")}


async def test_create_agent(thread: NewThread) -> None:
    """As the graph itself: text and calls are the run's own, results have the stored ids, and the thread goes on."""
    talk: AgentThread = thread(Agent([calling(("text", {"q": "a"}), ("text", {"q": "b"})), "done", "again"], text))
    run = await talk.say("go")
    assert (run.results, run.text, run.of("SUBAGENT_STARTED")) == ({"c0": "about a", "c1": "about b"}, "done", [])
    assert [m["id"] for m in run.snapshot] == [m.id for m in await talk.stored()]
    assert (await talk.say("and")).text == "again"


async def test_a_sub_agent_in_a_tool(thread: NewThread) -> None:
    """Named as it was made, for the call that runs it; what it says and calls is its own; the tool's result is the run's."""
    research = sub_agent("researcher", calling(("text", {"q": "a"}), ids=["s0"]), "found it", tools=(text,))
    talk = thread(Agent([tasks(("researcher", "look")), "all done"], task_tool(researcher=research)))
    run = await talk.say("go")
    sub = started(run)["t0"]
    assert (sub["name"], sub.get("parentSubagentRunId")) == ("researcher", None)
    assert (said_by(run, sub["subagentRunId"]), said_by(run, None)) == ("found it", "all done")
    assert {e["toolCallId"]: e.get("subagentRunId") for e in run.of("TOOL_CALL_START")} == {"t0": None, "s0": sub["subagentRunId"]}
    assert {e["toolCallId"]: e.get("subagentRunId") for e in run.of("TOOL_CALL_RESULT")} == {"t0": None, "s0": sub["subagentRunId"]}
    assert run.results == {"s0": "about a", "t0": "found it"}
    assert run.types.index("SUBAGENT_FINISHED") > run.types.index("SUBAGENT_STARTED")
    assert [m["role"] for m in run.snapshot] == ["user", "assistant", "tool", "assistant"]


async def test_several_sub_agents_at_once(thread: NewThread) -> None:
    """Two of one name and one of another, in one turn: each for its own call, their words apart."""
    writer, critic = sub_agent("writer", "one", "one"), sub_agent("critic", "two")
    run = await thread(
        Agent([tasks(("writer", "a"), ("writer", "b"), ("critic", "c")), "all done"], task_tool(writer=writer, critic=critic))
    ).say("go")
    subs = started(run)
    assert {call: sub["name"] for call, sub in subs.items()} == {"t0": "writer", "t1": "writer", "t2": "critic"}
    assert len({sub["subagentRunId"] for sub in subs.values()}) == 3
    assert {call: said_by(run, sub["subagentRunId"]) for call, sub in subs.items()} == {"t0": "one", "t1": "one", "t2": "two"}
    assert run.results == {"t0": "one", "t1": "one", "t2": "two"}


async def test_sub_agents_that_count_their_calls_alike(thread: NewThread) -> None:
    """Two at once whose models both say `c0`: two calls on the wire, each with its own result and owner."""
    one = sub_agent("one", calling(("text", {"q": "1"})), "first", tools=(text,))
    two = sub_agent("two", calling(("text", {"q": "2"})), "second", tools=(text,))
    run = await thread(Agent([tasks(("one", "a"), ("two", "b")), "all done"], task_tool(one=one, two=two))).say("go")
    owner = {call: sub["subagentRunId"] for call, sub in started(run).items()}
    inner = [e for e in run.of("TOOL_CALL_RESULT") if e["toolCallId"].startswith("c0")]
    assert sorted((e["content"], e["subagentRunId"]) for e in inner) == [("about 1", owner["t0"]), ("about 2", owner["t1"])]
    calls = {e["toolCallId"]: e["subagentRunId"] for e in run.of("TOOL_CALL_START") if e["toolCallId"].startswith("c0")}
    assert calls == {e["toolCallId"]: e["subagentRunId"] for e in inner}


async def test_a_sub_agent_that_asks(thread: NewThread, caplog: pytest.LogCaptureFixture) -> None:
    """It is suspended at its question, beside one that finishes; answered, it goes on as the same sub-agent."""
    asking = sub_agent("asking", calling(("ask_person", {"q": "sure?"}), ids=["s0"]), "they agreed", tools=(ask_person,))
    quick = sub_agent("quick", "quick words")
    talk = thread(Agent([tasks(("asking", "a"), ("quick", "b")), "all done"], task_tool(asking=asking, quick=quick)), saver=InMemorySaver())
    run = await talk.say("go")
    (question,) = run.interrupts
    sub = started(run)["t0"]["subagentRunId"]
    ends = {e["subagentRunId"]: (e.get("outcome") or {}).get("interruptIds") for e in run.of("SUBAGENT_FINISHED")}
    assert (run.outcome, question["message"], ends[sub]) == ("interrupt", "sure?", [question["id"]])
    assert run.results == {"t1": "quick words"}
    again = await talk.answer(resolved(question["id"], "yes"))
    # the snapshot at the question is the run's own messages: the client has the sub-agent's call no more
    assert [(e["toolCallId"], e["subagentRunId"]) for e in again.of("TOOL_CALL_START")] == [("s0", sub)]
    assert (again.outcome, caplog.messages) == ("success", [])
    assert again.results == {"s0": "they said yes", "t0": "they agreed"}
    assert said_by(again, sub) == "they agreed"
    assert said_by(again, None) == "all done"


async def test_a_sub_agent_that_fails(thread: NewThread) -> None:
    """Its run ends as an error of its own, in our words, and the whole run with it."""
    broken = sub_agent("broken", ConnectionError("host db-7.internal"))
    run = await thread(Agent([tasks(("broken", "a"))], task_tool(broken=broken))).say("go")
    assert run.outcome == "UPSTREAM_UNREACHABLE"
    assert len(run.of("SUBAGENT_ERROR")) == 1
    assert "db-7.internal" not in str(run.events)


async def test_a_sub_agent_of_a_sub_agent(thread: NewThread) -> None:
    """Two levels: the inner belongs to the outer's call and to the outer."""
    inner = sub_agent("inner", "deep words")
    outer = sub_agent(
        "outer",
        calling(("task", {"description": "b", "subagent_type": "inner"}), ids=["s0"]),
        "outer words",
        tools=(task_tool(inner=inner),),
    )
    run = await thread(Agent([tasks(("outer", "a")), "all done"], task_tool(outer=outer))).say("go")
    subs = started(run)
    assert {call: sub["name"] for call, sub in subs.items()} == {"t0": "outer", "s0": "inner"}
    assert subs["s0"]["parentSubagentRunId"] == subs["t0"]["subagentRunId"]
    assert said_by(run, subs["s0"]["subagentRunId"]) == "deep words"
    assert run.results == {"s0": "deep words", "t0": "outer words"}
