"""LangGraph's own projections of a v3 run, read while ours is read: neither takes anything from the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from ag_ui.core import PROTOCOL_VERSION, BaseEvent, RunFinishedEvent, RunStartedEvent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.stream import ProtocolEvent, StreamChannel, StreamTransformer
from langgraph.types import Command, interrupt

from graphs.models import ScriptedModel
from graphs.stream import AguiTransformer
from tests.support.agent_thread import AgentThread, Json, calling, single
from tests.support.small_graphs import react, speaking, text
from tests.support.streams import StreamRecorder

pytestmark = pytest.mark.filterwarnings("ignore:The v3 streaming protocol")


class Counts(StreamTransformer):
    """Counts messages: a named channel, an unnamed one, and a value that is there at the end."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages",)

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._named: StreamChannel[int] = StreamChannel("counts")
        self._unnamed: StreamChannel[str] = StreamChannel()
        self._total: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._count = 0

    def init(self) -> dict[str, Any]:
        return {"counts": self._named, "ids": self._unnamed, "total": self._total}

    def process(self, event: ProtocolEvent) -> bool:
        if event["method"] == "messages":
            payload: Any = event["params"]["data"][0]
            if isinstance(payload, dict) and payload["event"] == "message-start":
                self._count += 1
                self._named.push(self._count)
                self._unnamed.push(payload["id"])
        return True

    def finalize(self) -> None:
        if not self._total.done():
            self._total.set_result(self._count)


def talkative() -> StateGraph[Any, Any, Any, Any]:
    """The tool loop, then a nested graph, then a question."""
    graph = react(ScriptedModel(turns=[calling(("text", {"q": "a"})), "one two"]), text)

    def ask(state: MessagesState) -> Json:
        get_stream_writer()({"name": "asking", "payload": 1})
        return {"messages": [HumanMessage(str(interrupt("sure?")))]}

    outer = StateGraph(MessagesState)
    outer.add_node("loop", graph.compile())
    outer.add_node("nested", speaking("deep words").compile())
    outer.add_node("ask", ask)
    outer.add_edge(START, "loop")
    outer.add_edge("loop", "nested")
    outer.add_edge("nested", "ask")
    return outer


async def begin(graph: StateGraph[Any, Any, Any, Any], when: str, config: Any, given: Any, *transformers: Any) -> Any:
    """A run with these transformers, registered at call time or at compile time."""
    compiled = graph.compile(checkpointer=SAVER, transformers=transformers if when == "compile" else ())
    return await compiled.astream_events(given, config, version="v3", transformers=transformers if when == "call" else None)


SAVER = InMemorySaver()


async def all_of(channel: Any) -> list[Any]:
    return [item async for item in channel]


def record(recorder: StreamRecorder, run: Any, events: list[BaseEvent]) -> None:
    ids: dict[str, Any] = {"thread_id": "t", "run_id": "r"}
    ours = run._mux.transformer_by_key("agui_events")
    sent = [RunStartedEvent(protocol_version=PROTOCOL_VERSION, **ids), *events, *ours.close(), RunFinishedEvent(**ids)]
    recorder.record("beside", {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}, sent)


async def texts(messages: Any) -> list[str]:
    """`run.messages`, each message's text as it streams."""
    return [str(await message.text) async for message in messages]


def said(events: list[Any]) -> str:
    return "".join(e.delta for e in events if e.type.value == "TEXT_MESSAGE_CONTENT")


WHEN = pytest.mark.parametrize("when", ["call", "compile"])


@WHEN
async def test_all_at_once(when: str, stream_recorder: StreamRecorder) -> None:
    """Messages, values, the main log, custom channels and ours, by readers that run side by side; then output and interrupts."""
    config = {"configurable": {"thread_id": str(uuid4())}}
    run = await begin(talkative(), when, config, {"messages": [HumanMessage("go")]}, AguiTransformer, Counts)
    extra = run.extensions
    ours, tools, customs, values, log, counts, ids = await asyncio.gather(
        *(all_of(channel) for channel in (extra["agui_events"], extra["tool_events"], extra["custom_events"], run.values, run)),
        *(all_of(extra[name]) for name in ("counts", "ids")),
    )
    record(stream_recorder, run, ours)
    assert said(ours) == "one twodeep words"
    assert [e.type.value for e in tools] == [e.type.value for e in ours if e.type.value.startswith("TOOL_CALL")] != []
    assert [e.name for e in customs] == ["asking"]
    assert [m.text for m in values[-1]["messages"] if m.type == "ai"] == ["", "one two", "deep words"]
    assert counts == list(range(1, len(ids) + 1))
    assert len(ids) == 3
    assert await extra["total"] == 3
    methods = {event["method"] for event in log}
    assert {"messages", "values", "tools", "custom", "custom:counts"} <= methods
    assert not [event for event in log if event["method"].startswith("custom:agui")]
    assert await run.interrupted()
    assert [i.value for i in await run.interrupts()] == ["sure?"]
    output = await run.output()
    assert output is not None
    assert [m.text for m in output["messages"]] == [m.text for m in values[-1]["messages"]]
    await answered(when, config, stream_recorder)


async def answered(when: str, config: Any, recorder: StreamRecorder) -> None:
    """The same thread resumed, read the same way."""
    again = await begin(talkative(), when, config, Command(resume="yes"), AguiTransformer, Counts)
    ours, values = await asyncio.gather(all_of(again.extensions["agui_events"]), all_of(again.values))
    record(recorder, again, ours)
    assert not await again.interrupted()
    assert (await again.interrupts(), values[-1]["messages"][-1].text) == ([], "yes")


@WHEN
async def test_messages_beside_ours(when: str, stream_recorder: StreamRecorder) -> None:
    """`run.messages` streams the run's own messages, their text awaitable while ours is read."""
    config = {"configurable": {"thread_id": str(uuid4())}}
    model = ScriptedModel(turns=[calling(("text", {"q": "a"})), "one two"])
    run = await begin(react(model, text), when, config, {"messages": [HumanMessage("go")]}, AguiTransformer)
    ours, own = await asyncio.gather(all_of(run.extensions["agui_events"]), texts(run.messages))
    record(stream_recorder, run, ours)
    assert (own, said(ours)) == (["", "one two"], "one two")


@WHEN
async def test_subgraphs_beside_ours(when: str, stream_recorder: StreamRecorder) -> None:
    """Each nested graph's own handle, its messages and values; ours has mapped them once."""

    async def handles(subgraphs: AsyncIterator[Any]) -> list[tuple[str, list[str], int]]:
        return [
            (handle.path[0].partition(":")[0], *await asyncio.gather(texts(handle.messages), count(handle.values)))
            async for handle in subgraphs
        ]

    async def count(values: Any) -> int:
        return len(await all_of(values))

    config = {"configurable": {"thread_id": str(uuid4())}}
    run = await begin(talkative(), when, config, {"messages": [HumanMessage("go")]}, AguiTransformer, Counts)
    ours, found = await asyncio.gather(all_of(run.extensions["agui_events"]), handles(run.subgraphs))
    record(stream_recorder, run, ours)
    assert [(name, spoken) for name, spoken, _ in found] == [("loop", ["", "one two"]), ("nested", ["deep words"])]
    assert all(states > 0 for _, _, states in found)
    assert said(ours) == "one twodeep words"


async def test_the_final_state_alone(stream_recorder: StreamRecorder) -> None:
    """Who reads only ours and then asks for the output gets it; who asks for the output first reads ours after."""
    for ask_first in (True, False):
        config = {"configurable": {"thread_id": str(uuid4())}}
        run = await begin(speaking("one two"), "call", config, {"messages": [HumanMessage("go")]}, AguiTransformer)
        reader = asyncio.ensure_future(all_of(run.extensions["agui_events"]))
        await asyncio.sleep(0)
        output = await run.output() if ask_first else None
        ours = await reader
        output = output or await run.output()
        record(stream_recorder, run, ours)
        assert (said(ours), output["messages"][-1].text) == ("one two", "one two")


async def test_a_served_graph_with_transformers_of_its_own(stream_recorder: StreamRecorder) -> None:
    """What a graph was compiled with stays with it when it is served, with or without ours among it."""
    for own in ([], [Counts], [AguiTransformer], [Counts, AguiTransformer]):
        talk = AgentThread(stream_recorder, single(speaking("one two").compile()), compile={"transformers": own})
        assert (await talk.say("go")).text == "one two"
