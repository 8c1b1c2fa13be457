"""A request that finds a run at work: it is shown the thread with the run's events, or the run that it started itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from functions.runs import following
from functions.settings import Settings
from functions.store.checkpoints import DynamoDBSaver
from functions.web import create_app
from tests.functions.web.test_app import body, client_of
from tests.support.dynamodb import Dynamo
from tests.support.joining import said
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder

KEY = {"Idempotency-Key": "the click"}


class State(MessagesState):
    topic: str


class Talk:
    """Two processes' worth of one agent: `asks` first, or says two things, with a wait between them."""

    def __init__(self, dynamo: Dynamo | None, *, asks: bool = False) -> None:
        self.dynamo, self.asks, self.saver = dynamo, asks, InMemorySaver()
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.runs = 0

    def client(self, **settings: Any) -> Any:
        saver: Any = DynamoDBSaver(self.dynamo.checkpoints, client=self.dynamo.client) if self.dynamo else self.saver
        builder = StateGraph(State)
        builder.add_node("first", self.first)
        builder.add_node("second", self.second)
        builder.add_edge(START, "first")
        builder.add_edge("first", "second")
        return client_of(create_app("mine", Settings(auth="none", **settings), graph=builder.compile(checkpointer=saver)))

    async def first(self, state: State) -> dict[str, Any]:
        answer = interrupt("Well?") if self.asks else "first"
        return {"messages": [self.said(state, "first", str(answer))], "topic": f"topic {len(state['messages'])}"}

    async def second(self, state: State) -> dict[str, Any]:
        self.runs += 1
        self.begun.set()
        await self.go.wait()
        return {"messages": [self.said(state, "second", "second")]}

    @staticmethod
    def said(state: State, name: str, text: str) -> AnyMessage:
        return AIMessage(text, id=f"{name}-{len(state['messages'])}")


@pytest.fixture(params=["in the table", "in memory"])
def where(request: pytest.FixtureRequest) -> Dynamo | None:
    return request.getfixturevalue("dynamo") if request.param == "in the table" else None


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.1)


async def connected_while(talk: Talk, input: dict[str, Any]) -> tuple[httpx.Response, httpx.Response]:
    """A run, and a `/connect` by another process while it is at work."""
    async with talk.client() as one, talk.client() as other:
        running = asyncio.create_task(one.post("/", json=input))
        await asyncio.wait_for(talk.begun.wait(), 20)
        connecting = asyncio.create_task(other.post("/connect", json={"threadId": "t", "protocolVersion": "1.0"}))
        await asyncio.sleep(1.5)
        talk.go.set()
        return await running, await connecting


def joining(run: str) -> dict[str, Any]:
    """What a client has that knows nothing of the thread."""
    return {"threadId": "t", "runId": run, "messages": [], "protocolVersion": "1.0"}


def kinds(answer: httpx.Response) -> list[str]:
    return [event["type"] for event in read_sse(answer.content)]


def last_messages(events: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in next(e for e in reversed(events) if e["type"] == "MESSAGES_SNAPSHOT")["messages"]]


async def test_a_live_thread_is_shown_with_its_run(where: Dynamo | None, stream_recorder: StreamRecorder) -> None:
    """Nothing twice, nothing missing, in a legal stream: the thread before, with the new message, then the run's events to the end."""
    talk = Talk(where)
    talk.go.set()
    async with talk.client() as client:
        await client.post("/", json=body("hello", run="r1"))
    talk.go.clear()
    talk.begun.clear()
    run, shown = await connected_while(talk, body("again", run="r2", protocolVersion="1.0"))
    events = read_sse(shown.content)
    stream_recorder.record("connect-live", joining("r2"), events, raw=shown.content)
    assert kinds(shown) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", *kinds(run)[1:]]
    assert [m["content"] for m in events[1]["messages"]] == ["hello", "first", "second", "again"]
    assert events[2]["snapshot"]["topic"] == "topic 1"
    assert last_messages(events) == last_messages(read_sse(run.content))
    numbered = b"".join(frame + b"\n\n" for frame in said(shown.content).split(b"\n\n")[:-1] if frame.startswith(b"id: "))
    assert numbered == said(run.content)


async def test_a_first_run_is_shown_from_nothing(where: Dynamo | None, stream_recorder: StreamRecorder) -> None:
    """Before it there was no thread: its own message is all that there is."""
    talk = Talk(where)
    _run, shown = await connected_while(talk, body("hello", protocolVersion="1.0"))
    events = read_sse(shown.content)
    stream_recorder.record("connect-first", joining("r"), events, raw=shown.content)
    assert [m["content"] for m in events[1]["messages"]] == ["hello"]
    assert last_messages(events) == ["hello", "first", "second"]


async def test_an_answer_at_work_is_shown(where: Dynamo | None, stream_recorder: StreamRecorder) -> None:
    """Also under the id of the run that asked: its own events, not those of the question."""
    talk = Talk(where, asks=True)
    async with talk.client() as client:
        question = read_sse((await client.post("/", json=body("hello", run="same"))).content)[-1]
    resume = [{"interruptId": question["outcome"]["interrupts"][0]["id"], "status": "resolved", "payload": "yes"}]
    _run, shown = await connected_while(talk, body(None, run="same", resume=resume, protocolVersion="1.0"))
    events = read_sse(shown.content)
    stream_recorder.record("connect-answer", joining("same"), events)
    assert [m["content"] for m in events[1]["messages"]] == ["hello"]
    assert last_messages(events) == ["hello", "yes", "second"]


async def test_without_events_the_thread_is_shown_as_it_is(where: Dynamo | None) -> None:
    """Hours of 0: a live thread is shown at its last step, at once."""
    talk = Talk(where)
    async with talk.client(events_hours=0) as client:
        running = asyncio.create_task(client.post("/", json=body("hello")))
        await talk.begun.wait()
        shown = await client.post("/connect", json={"threadId": "t"})
        talk.go.set()
        await running
    assert kinds(shown) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert last_messages(read_sse(shown.content)) == ["hello", "first"]


MOMENTS: dict[str, Callable[[Talk], Any]] = {
    "at once": lambda talk: asyncio.sleep(0),
    "while it is at work": lambda talk: talk.begun.wait(),
    "when it has ended": lambda talk: ended(talk),
}


async def ended(talk: Talk) -> None:
    talk.go.set()
    await asyncio.sleep(1)


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
async def test_the_same_request_again_joins_its_run(where: Dynamo | None, moment: Callable[[Talk], Any]) -> None:
    """Whenever it comes: 200 with the same stream, and one run."""
    talk = Talk(where)
    async with talk.client() as one, talk.client() as other:
        first = asyncio.create_task(one.post("/", json=body("hello"), headers=KEY))
        await moment(talk)
        again = asyncio.create_task(other.post("/", json=body("hello"), headers=KEY))
        await talk.begun.wait()
        talk.go.set()
        answers = [await first, await again]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert said(answers[0].content) == said(answers[1].content)
    assert talk.runs == 1


async def test_another_request_does_not_join(where: Dynamo | None) -> None:
    """Another key, or none, on a busy thread: 409 with the run that has it. Without events so is the same key."""
    for settings, keys in (({}, [{"Idempotency-Key": "other"}, {}]), ({"events_hours": 0}, [KEY])):
        talk = Talk(where)
        async with talk.client(**settings) as client:
            first = asyncio.create_task(client.post("/", json=body("hello", thread="x", run="r1"), headers=KEY))
            await talk.begun.wait()
            for key in keys:
                busy = await client.post("/", json=body("hello", thread="x", run="r2"), headers=key)
                assert (busy.status_code, busy.json()["error"]["runId"]) == (409, "r1")
            talk.go.set()
            assert (await first).status_code == 200
            assert (await client.delete("/threads/x")).status_code == 204
