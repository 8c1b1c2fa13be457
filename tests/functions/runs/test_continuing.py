"""A run that is handed over to another invocation, in one process: what is told, taken on once, and what happens where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from functions.runs import AgentRun
from functions.runs.continuing import Continuation, Ticket, kept_input
from functions.runs.event_log import event_log
from functions.runs.lease import RunInProgress, TableLease, acquire, take_on
from functions.runs.live import last_holder
from functions.runs.recording import Recorder
from functions.store.checkpoints import DynamoDBSaver
from functions.web.sse import encode
from tests.support.checkpoints import noise
from tests.support.dynamodb import Dynamo
from tests.support.sse import read_sse

STEPS = 6
Json = dict[str, Any]


def steps() -> Any:
    """One message a step, of a tenth of a second."""

    async def step(state: MessagesState) -> Json:
        await asyncio.sleep(0.1)
        return {"messages": [AIMessage(f"step {len(state['messages'])}", id=f"s{len(state['messages'])}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if len(state["messages"]) <= STEPS else "__end__")
    return graph


class Function:
    """Stands where Lambda does: keeps what it was sent."""

    def __init__(self, error: Exception | None = None) -> None:
        self.events: list[Mapping[str, Any]] = []
        self._error = error

    async def invoke(self, told: Mapping[str, Any]) -> None:
        self.events.append(told)
        if self._error:
            raise self._error


def given(**more: Any) -> RunAgentInput:
    empty: Json = {"tools": [], "context": [{"description": "d", "value": "v"}], "state": {}, "forwardedProps": {"a": 1}}
    message = {"id": "u", "role": "user", "content": "go"}
    return RunAgentInput.model_validate({"threadId": "t", "runId": "r", "messages": [message], **empty, **more})


@pytest.fixture
def table(dynamo: Dynamo) -> DynamoDBSaver:
    return DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)


async def run_of(
    table: DynamoDBSaver,
    function: Function,
    *,
    most: int = 5,
    ticket: Ticket | None = None,
    left_ms: int = 100_000,
    input: Any = None,
    graph: Any = None,
    drain: float = 99.95,
) -> tuple[AgentRun, bytes]:
    """An invocation with so much time left; it keeps back all but 50 ms."""
    input = input or given()
    lease = None
    if ticket is not None:
        lease = await take_on(table, "t", ticket.holder, ticket.hop, seconds=30, remaining_ms=lambda: left_ms)
        assert lease is not None
    recorder = Recorder(event_log(table, "t", "r", 3_600), encode)
    run = AgentRun(
        input,
        (graph or steps()).compile(checkpointer=table),
        agent="a",
        remaining_ms=lambda: left_ms,
        drain_seconds=drain,
        recorder=recorder,
        continuation=Continuation(function.invoke, input, "me", 1.0, most, ticket),
        lease=lease,
    )
    await run.prepare()
    return run, b"".join([recorder.frame(event) async for event in run.events()])


def types(raw: bytes) -> list[str]:
    return [event.get("code") or event["type"] for event in read_sse(raw)]


async def test_the_next_invocation_is_told_what_it_needs(table: DynamoDBSaver) -> None:
    """Who, which run, under which lease, how far; the input without what the checkpoint has. Nothing of the stream has ended."""
    run, sent = await run_of(table, function := Function())
    assert run.goes_on
    assert not {"RUN_FINISHED", "RUN_ERROR"} & set(types(sent))
    (told,) = function.events
    ticket = Ticket.of(told)
    held = await last_holder(table, "t")
    assert held is not None
    assert held.live
    assert (ticket.principal, ticket.thread_id, ticket.run_id, ticket.hop) == ("me", "t", "r", 1)
    assert ticket.number == len(read_sse(sent))
    kept = await kept_input(table, ticket, 1.0)
    assert kept == given(messages=[])


async def test_it_goes_on_to_the_end(table: DynamoDBSaver) -> None:
    """Hop after hop; the frames behind each other are the whole stream, and each step is in it once."""
    function = Function()
    run, whole = await run_of(table, function, most=50)
    while run.goes_on:
        ticket = Ticket.of(function.events[-1])
        input = await kept_input(table, ticket, 1.0)
        run, more = await run_of(table, function, most=50, ticket=ticket, input=input)
        whole += more
    assert len(function.events) >= 2
    assert [line for line in whole.split(b"\n") if line.startswith(b"id: ")] == [
        b"id: %d" % number for number in range(1, len(read_sse(whole)) + 1)
    ]
    said = types(whole)
    assert (said[0], said[-1], said.count("RUN_STARTED")) == ("RUN_STARTED", "RUN_FINISHED", 1)
    texts = [event["delta"] for event in read_sse(whole) if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert texts == [f"step {number}" for number in range(1, STEPS + 1)]
    log = event_log(table, "t", "r", 3_600)
    assert log is not None
    assert b"".join(batch.frames for batch in (await log.read()).batches) == whole


def asking() -> Any:
    """Two questions at once, then steps; what was answered is what they say."""

    async def ask(state: Any) -> Json:
        return {"messages": [AIMessage(f"heard {interrupt(state['what'])}", id=f"heard-{state['what']}")]}

    async def after(state: MessagesState) -> Json:
        await asyncio.sleep(0.1)
        return {"messages": [AIMessage(f"step {len(state['messages'])}", id=f"s{len(state['messages'])}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("after", after)
    graph.add_conditional_edges(START, lambda _: [Send("ask", {"what": what}) for what in ("a", "b")], ["ask"])
    graph.add_edge("ask", "after")
    graph.add_conditional_edges("after", lambda state: "after" if len(state["messages"]) <= STEPS else "__end__")
    return graph


@pytest.mark.parametrize("drain", [99.95, 99.999], ids=["after a step", "before anything has run"])
async def test_answers_are_heard_once(table: DynamoDBSaver, drain: float) -> None:
    """A run that answers two questions is handed over, also before the graph has heard them: each is heard once, and asked no more."""
    function = Function()
    first = AgentRun(given(), asking().compile(checkpointer=table), agent="a", debug=True)
    *_, end = [event async for event in first.events()]
    answers = [{"interruptId": asked.id, "status": "resolved", "payload": asked.id[:4]} for asked in end.outcome.interrupts]  # type: ignore[attr-defined]
    run, whole = await run_of(table, function, most=50, input=given(messages=[], resume=answers), graph=asking(), drain=drain)
    assert len(function.events) == 1
    while run.goes_on:
        ticket = Ticket.of(function.events[-1])
        input = await kept_input(table, ticket, 1.0)
        run, more = await run_of(table, function, most=50, ticket=ticket, input=input, graph=asking())
        whole += more
    said = types(whole)
    assert (said.count("RUN_STARTED"), said[-1]) == (1, "RUN_FINISHED")
    (snapshot,) = (event for event in read_sse(whole) if event["type"] == "MESSAGES_SNAPSHOT")
    texts = [message["content"] for message in snapshot["messages"]]
    assert sorted(text for text in texts if text.startswith("heard")) == sorted(f"heard {answer['payload']}" for answer in answers)
    assert read_sse(whole)[-1]["outcome"]["type"] == "success"


async def test_an_event_that_comes_twice_starts_nothing(table: DynamoDBSaver) -> None:
    """Lambda delivers at least once. Nobody else comes between either."""
    await run_of(table, function := Function())
    ticket = Ticket.of(function.events[0])
    with pytest.raises(RunInProgress):
        await acquire(table, "t", run_id="another")
    found = [await take_on(table, "t", ticket.holder, ticket.hop, seconds=30, remaining_ms=None) for _ in range(2)]
    assert [isinstance(lease, TableLease) for lease in found] == [True, False]


async def test_an_event_that_comes_late_starts_nothing(table: DynamoDBSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lease was over, and another run has the thread; it took the first one over as it does one that died."""
    monkeypatch.setattr("functions.runs.continuing.TAKEN_ON_WITHIN", 0.2)
    await run_of(table, function := Function())
    await asyncio.sleep(0.3)
    late = Ticket.of(function.events[0])
    assert await take_on(table, "t", late.holder, late.hop, seconds=30, remaining_ms=None) is None, "followers were told that it is lost"
    other = await acquire(table, "t", run_id="another")
    assert "r" in other.dead
    ticket = Ticket.of(function.events[0])
    assert await take_on(table, "t", ticket.holder, ticket.hop, seconds=30, remaining_ms=None) is None


@pytest.mark.parametrize(
    ("function", "most"), [(Function(OSError("throttled")), 5), (Function(), 0)], ids=["Lambda does not take it", "as often as is allowed"]
)
async def test_where_it_cannot_go_on_it_ends(table: DynamoDBSaver, function: Function, most: int) -> None:
    """As without continuation: its stream says so, the thread is free, and an empty run goes on."""
    run, sent = await run_of(table, function, most=most)
    assert (run.goes_on, types(sent)[-1]) == (False, "RUN_DEADLINE")
    held = await last_holder(table, "t")
    assert held is not None
    assert not held.live
    rest = given(messages=[], runId="rest")
    events = [event async for event in AgentRun(rest, steps().compile(checkpointer=table), agent="a").events()]
    assert events[-1].type == "RUN_FINISHED"


async def test_inputs_of_two_hops_do_not_mix(table: DynamoDBSaver) -> None:
    """A large one, in several items, and then a small one."""
    events, pk = table.events(60), table.partition("t")
    assert events is not None
    large = noise(1_500_000)
    for hop, data in ((0, large), (1, b"small"), (10, b"other")):
        events.keep_input(pk, "r", hop, data)
    assert [events.input(pk, "r", hop) for hop in (0, 1, 10, 2)] == [large, b"small", b"other", None]


async def test_a_log_that_misses_events_is_not_gone_on_from(table: DynamoDBSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever follows could not be shown the stream: the run ends here, where its client is."""
    monkeypatch.setattr("functions.runs.recording.END_SECONDS", 0.3)

    async def away(self: Any, batch: Any) -> None:
        raise OSError("away")

    monkeypatch.setattr("functions.runs.event_log.TableLog.write", away)
    run, sent = await run_of(table, function := Function())
    assert (run.goes_on, types(sent)[-1], function.events) == (False, "RUN_DEADLINE", [])


@pytest.mark.parametrize("event", [None, [], {}, {"principal": "me"}, {"principal": "me", "x": 1}])
def test_what_is_no_ticket(event: Any) -> None:
    """Is said, whoever sent it."""
    with pytest.raises(ValueError, match="no run to go on with"):
        Ticket.of(event)
