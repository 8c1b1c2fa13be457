"""How a run ends early: failures, limits, a stop, a deadline, a client that goes away."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from typing import Any

import pytest
from ag_ui.core import EventType
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import interrupt

from functions.runs import stream_graph_agui_events
from graphs.knowledge import Knowledge, KnowledgeUnavailable, kb_search_tool
from graphs.knowledge.library import Hit
from graphs.models import ScriptedModel
from graphs.stream import write_agui_event
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, calling, single
from tests.support.small_graphs import react, speaking, text

SECRET = "host db-7.internal key sk-123"


def half(*after: Any) -> list[Any]:
    return [AIMessageChunk(content=[{"type": "text", "text": "half a wor", "index": 0}]), *after]


async def test_a_node_that_raises_at_once(thread: NewThread, caplog: pytest.LogCaptureFixture) -> None:
    """The step is closed, one RUN_ERROR, a sentence of ours; the log has the rest."""

    async def node(state: MessagesState) -> Json:
        raise ValueError(SECRET)

    run = await thread(single(node)).say("go")
    assert run.types[1:] == ["STEP_STARTED", "STEP_FINISHED", "RUN_ERROR"]
    assert (run.outcome, run.end["metadata"]) == ("AGENT_INTERNAL", {"name": "ValueError"})
    assert "db-7" not in str(run.events)
    assert SECRET in str([getattr(r, "error", "") for r in caplog.records])


async def test_in_the_middle_of_a_word(thread: NewThread) -> None:
    """What is open is closed before the error; a sub-agent ends as failed, in our words."""
    inner = speaking(half(ConnectionError(SECRET))).compile()
    run = await thread(single(inner)).say("go")
    assert run.types[-5:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "SUBAGENT_ERROR", "STEP_FINISHED", "RUN_ERROR"]
    assert (run.text, run.outcome) == ("half a wor", "UPSTREAM_UNREACHABLE")
    assert "db-7" not in str(run.events)


async def test_in_the_middle_of_a_call(thread: NewThread) -> None:
    """The arguments stay as far as they came."""
    from langchain_core.messages.tool import tool_call_chunk

    chunks = [
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="text", args='{"q', id="c0", index=0)]),
        TimeoutError(SECRET),
    ]
    run = await thread(react(ScriptedModel(turns=[chunks]), text)).say("go")
    assert run.types[-3:] == ["TOOL_CALL_END", "STEP_FINISHED", "RUN_ERROR"]
    assert run.outcome == "UPSTREAM_TIMEOUT"


async def test_debug_shows_the_text(thread: NewThread) -> None:
    """Only when it is on."""

    async def node(state: MessagesState) -> Json:
        raise ValueError(SECRET)

    run = await thread(single(node), debug=True).say("go")
    assert run.end["metadata"] == {"name": "ValueError", "detail": [f"ValueError: {SECRET}"]}


async def test_the_step_limit(thread: NewThread) -> None:
    """A loop ends at the limit, with the work of its last step kept."""
    model = ScriptedModel(turns=[calling(("text", {"q": "a"}))] * 20)
    run = await thread(react(model, text), recursion_limit=4).say("go")
    assert run.outcome == "GRAPH_STEP_LIMIT"
    assert run.end["usage"][0]["outputTokens"] > 0


async def test_an_unreachable_checkpoint(thread: NewThread) -> None:
    """Not even the thread can be read: RUN_STARTED, RUN_ERROR."""
    from langgraph.checkpoint.memory import InMemorySaver

    class Down(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise ConnectionRefusedError(SECRET)

    run = await thread(speaking("x"), saver=Down()).say("go")
    assert (run.types, run.outcome) == (["RUN_STARTED", "RUN_ERROR"], "UPSTREAM_UNREACHABLE")


async def test_a_node_that_cancels_itself(thread: NewThread) -> None:
    """A CancelledError of a node's own is a failure like any other."""

    async def node(state: MessagesState) -> Json:
        raise asyncio.CancelledError

    assert (await thread(single(node)).say("go")).outcome == "AGENT_INTERNAL"


class Slow:
    """A graph whose second step waits until it is let go; knows whether it was cancelled."""

    def __init__(self) -> None:
        self.running, self.go, self.cancelled, self.steps = asyncio.Event(), asyncio.Event(), False, 0

    def graph(self) -> StateGraph[Any, Any, Any, Any]:
        async def first(state: MessagesState) -> Json:
            get_stream_writer()("running")
            self.running.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
            self.steps += 1
            return {"messages": [AIMessage("first", id="m1")]}

        async def second(state: MessagesState) -> Json:
            self.steps += 1
            return {"messages": [AIMessage("second", id="m2")]}

        graph = StateGraph(MessagesState)
        graph.add_node("first", first)
        graph.add_node("second", second)
        graph.add_edge(START, "first")
        graph.add_edge("first", "second")
        return graph


@pytest.mark.parametrize(
    ("version", "outcome"), [("1.0", "cancelled"), ("1.1", "cancelled"), ("2.0", "cancelled"), ("0.9", "STOPPED"), (None, "STOPPED")]
)
async def test_stop(version: str | None, outcome: str, thread: NewThread) -> None:
    """A drain for the user: stops at the step's end, for older clients as an error; what is done is kept and the rest goes on later."""
    slow, control = Slow(), RunControl()
    talk: AgentThread = thread(slow.graph(), version=version, control=control)
    running = asyncio.create_task(talk.say("go"))
    await slow.running.wait()
    control.request_drain("stop")
    slow.go.set()
    run = await running
    assert (run.outcome, run.text, slow.steps) == (outcome, "first", 1)
    talk.settings.pop("control")
    assert (await talk.run()).text == "second"
    assert slow.steps == 2


async def test_the_deadline(thread: NewThread) -> None:
    """Too little time left: RUN_DEADLINE at the next step; an empty run goes on."""
    slow = Slow()
    talk: AgentThread = thread(slow.graph(), remaining_ms=lambda: 20_200)
    running = asyncio.create_task(talk.say("go"))
    await slow.running.wait()
    await asyncio.sleep(0.4)
    slow.go.set()
    assert ((await running).outcome, slow.steps) == ("RUN_DEADLINE", 1)
    talk.settings.pop("remaining_ms")
    assert (await talk.run()).outcome == "success"
    assert slow.steps == 2
    assert [m["content"] for m in talk.messages] == ["go", "first", "second"]


async def test_enough_time(thread: NewThread) -> None:
    """The timer of a run that is done does not stay behind."""
    control = RunControl()
    run = await thread(speaking("x"), remaining_ms=lambda: 20_500, control=control).say("go")
    await asyncio.sleep(0.6)
    assert run.outcome == "success"
    assert not control.drain_requested


async def test_a_drain_after_a_native_end(thread: NewThread) -> None:
    """One end is enough."""
    control = RunControl()

    async def first(state: MessagesState) -> Json:
        write_agui_event({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
        control.request_drain("stop")
        return {}

    graph = single(first)
    graph.add_node("second", lambda _: {})
    graph.add_edge("node", "second")
    run = await thread(graph, control=control).say("go")
    assert run.types[-1] == "RUN_FINISHED"


async def test_closing_the_generator_cancels_the_graph(thread: NewThread) -> None:
    """A client that goes away: when `aclose` returns, the node was cancelled and nothing is left running."""
    slow = Slow()
    talk: AgentThread = thread(slow.graph())
    talk.messages = [{"id": "1", "role": "user", "content": "go"}]
    events = stream_graph_agui_events(talk.input(), talk.compiled(), agent="a")
    before = asyncio.all_tasks()
    assert [(await anext(events)).type for _ in range(3)] == [EventType.RUN_STARTED, EventType.STEP_STARTED, EventType.CUSTOM]
    await events.aclose()
    assert slow.cancelled
    assert asyncio.all_tasks() == before


async def test_cancelling_the_reader_cancels_the_graph(thread: NewThread) -> None:
    """The same where the task that reads is cancelled in the middle of a step."""
    slow = Slow()
    talk: AgentThread = thread(slow.graph())
    reading = asyncio.create_task(talk.say("go"))
    await slow.running.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await asyncio.sleep(0)
    assert slow.cancelled


def test_no_beta_warning_reaches_the_log() -> None:
    """`python -W error` in a process of its own: the run ends well and says nothing."""
    program = """
import asyncio
from ag_ui.core import RunAgentInput
from functions.runs import stream_graph_agui_events
from tests.support.agent_thread import single

async def node(state): return {}

async def main():
    given = RunAgentInput.model_validate({"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "x"}]})
    async for event in stream_graph_agui_events(given, single(node).compile(), agent="a"):
        print(event.type.value)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines()[-1:] == ["RUN_FINISHED"], done.stderr
    assert done.stderr == ""


async def test_refused_events_are_in_the_log(thread: NewThread, caplog: pytest.LogCaptureFixture) -> None:
    """A node's author sees why."""

    async def node(state: MessagesState) -> Json:
        write_agui_event({"type": "TEXT_MESSAGE_END", "messageId": "n"})
        return {}

    with caplog.at_level(logging.WARNING):
        run = await thread(single(node)).say("go")
    assert [e["name"] for e in run.of("CUSTOM")] == ["agui_event_refused"]
    assert "not legal here" in caplog.text


async def test_a_question_without_a_checkpointer(thread: NewThread) -> None:
    """Nothing could keep it: an error that says so, and not a question that nobody can answer."""

    async def node(state: MessagesState) -> Json:
        return {"messages": [AIMessage(str(interrupt("sure?")))]}

    for graph in (single(node), single(single(node).compile())):
        run = await thread(graph, compile={"checkpointer": None}).say("go")
        assert run.outcome == "CHECKPOINTER_NEEDED"
        assert "checkpointer" in run.end["message"]


async def test_an_unreachable_knowledge_store(thread: NewThread) -> None:
    """A node that searches a store which is down: KB_INFRA_DOWN, without the store's address; in a tool it is the tool's result."""

    class Remote(Knowledge):
        async def retrieve(self, query: str, kb_id: str | None = None, *, recall: int = 20, limit: int = 5) -> list[Hit]:
            raise KnowledgeUnavailable("vectors.internal:6333") from ConnectionRefusedError()

    async def node(state: MessagesState) -> Json:
        return {"messages": [AIMessage((await Remote([]).retrieve("x"))[0].chunk.text)]}

    run = await thread(single(node)).say("go")
    assert (run.outcome, run.end["metadata"]) == ("KB_INFRA_DOWN", {"name": "KnowledgeUnavailable"})
    asked = ScriptedModel(turns=[calling(("kb_search", {"query": "x"})), "The knowledge base is down."])
    run = await thread(react(asked, kb_search_tool(Remote([])))).say("go")
    assert run.results == {"c0": "Error: the tool failed (KnowledgeUnavailable)."}
    assert "vectors" not in str(run.events)
