"""A run in a process that can be killed or frozen at any call, and processes that go on with its thread.

Processes come from multiprocessing's fork server, which has imported everything and has neither client nor thread: a new one costs a fork.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Annotated, Any

import boto3
from ag_ui.core import EventType, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from functions.runs import AgentRun
from functions.runs.connect import connect_events
from functions.runs.errors import RunRejected
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import CONFIG
from functions.store.errors import StoreError
from graphs.messages import DeltaMessagesState
from graphs.scripted import ScriptedChatModel, Turn
from graphs.tools import route_tools, tool_node
from tests.support.agent_thread import calling
from tests.support.boundaries import Boundaries, Boundary, Journal
from tests.support.checkpoints import noise

Json = dict[str, Any]

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])

_SESSION = boto3.session.Session()
"""Cache: its loader keeps the services' models, which take half a second to read. It has no connection."""
for _service in ("dynamodb", "s3"):
    _SESSION.client(_service, endpoint_url="http://127.0.0.1:9", region_name="us-east-1", aws_access_key_id="-", aws_secret_access_key="-")

TOGETHER = 0.3
"""Seconds that one of two tools waits for the other."""
APART = 0.2
"""Seconds between the ends of two tools whose results are to be stored in two calls."""
SHOWN = (EventType.MESSAGES_SNAPSHOT, EventType.RUN_FINISHED, EventType.RUN_ERROR)
APPROVE, REJECT = {"approved": True}, {"approved": False}
LARGE_TEXT = noise(450_000).hex()
"""Over 350 KB also when compressed."""


@dataclass(frozen=True, slots=True)
class World:
    """Where threads are. With a `bucket` the agent keeps whole histories with large messages, else (as our agents do) what is added.

    A table name that ends in `-` is the prefix of one table a thread: moto looks at every item of a table for every query."""

    endpoint: str
    named: str
    bucket: str | None
    folder: Path
    lease_seconds: float

    def journal(self, thread_id: str) -> Journal:
        return Journal(self.folder / f"{thread_id}.jsonl")

    def table(self, thread_id: str) -> str:
        return f"{self.named}{thread_id}" if self.named.endswith("-") else self.named

    def clients(self) -> list[Any]:
        """Of DynamoDB, and of S3 if there is a bucket."""
        names: list[Any] = ["dynamodb", *(["s3"] if self.bucket else [])]
        return [_SESSION.client(name, endpoint_url=self.endpoint, region_name="us-east-1", config=CONFIG) for name in names]

    def message(self, message_id: str, text: str) -> Json:
        return {"id": message_id, "role": "user", "content": f"{text} {LARGE_TEXT if self.bucket else ''}"}


# -- the agent


class Clerk(ScriptedChatModel):
    """`pay …` makes it call a tool that asks, `look …` two that do not, which end at once (or `apart`); their results make it say so."""

    def turn(self, messages: list[BaseMessage], tools: Sequence[str]) -> Turn:
        said = messages[-1]
        if said.type == "tool":
            return "done"
        number = sum(message.type == "human" for message in messages)
        if said.text.startswith("pay"):
            return calling(("pay", {"amount": 5}), ids=[f"pay{number}"])
        wait = APART if said.text.startswith("look apart") else 0
        looks = ("look", {"where": "left", "wait": 0}), ("look", {"where": "right", "wait": wait})
        return calling(*looks, ids=[f"left{number}", f"right{number}"])


def build(world: World, thread_id: str, saver: DynamoDBSaver) -> Any:
    """The agent; its journal has the side effect of every tool, with the key that is the same whenever the same call runs again."""
    journal, model = world.journal(thread_id), Clerk()
    looking, both = set[str](), asyncio.Event()

    def ran(name: str, call_id: str, config: RunnableConfig) -> None:
        journal.note("ran", name=name, task=config["configurable"]["checkpoint_ns"].rpartition(":")[2], call=call_id)

    @tool
    async def pay(amount: int, tool_call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:
        """Asks, then pays."""
        answer = interrupt({"type": "approval", "title": f"Pay {amount}?"})
        if not answer["approved"]:
            return "refused"
        ran("pay", tool_call_id, config)
        return f"paid {amount}"

    @tool
    async def look(where: str, wait: float, tool_call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:
        """Looks."""
        ran("look", tool_call_id, config)
        looking.add(tool_call_id)
        if len(looking) == 2:
            both.set()
        # so that the first result is stored when both have run; alone, where the other's was stored before, it goes on
        with suppress(TimeoutError):
            await asyncio.wait_for(both.wait(), TOGETHER)
        await asyncio.sleep(wait)
        return f"seen {where}"

    async def think(state: Any, config: RunnableConfig) -> Json:
        ran("model", "", config)
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState if world.bucket else DeltaMessagesState)
    graph.add_node("model", think)
    graph.add_node("tools", tool_node([pay, look]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route_tools("tools"))
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


# -- its client


class Client:
    """One process's view of a thread: each run is told what the client knows, and its end is noted."""

    def __init__(self, world: World, thread_id: str, clients: Sequence[Any]) -> None:
        self.world, self.thread_id, self.journal = world, thread_id, world.journal(thread_id)
        dynamodb, s3 = [*clients, None][:2]
        self._saver = DynamoDBSaver(world.table(thread_id), client=dynamodb, objects_client=s3, bucket=world.bucket)
        self._shown: list[Any] = []
        self.graph = build(world, thread_id, self._saver)

    async def send(self, request: Json) -> str:
        """Returns the outcome's type, or the error's code."""
        empty: Json = {"tools": [], "context": [], "state": {}, "forwardedProps": {}, "messages": []}
        given = RunAgentInput.model_validate({"threadId": self.thread_id, **empty, **request})
        run = AgentRun(given, self.graph, agent="clerk", lease_seconds=self.world.lease_seconds, debug=True)
        try:
            await run.prepare()
        except RunRejected as rejected:
            self._shown = []
            self.journal.note("end", run=given.run_id, outcome=rejected.code)
            return rejected.code
        except StoreError as error:
            # as functions.web does: what fails here fails again on the stream, or does not
            self.journal.note("unprepared", run=given.run_id, error=repr(error))
        self.journal.note("accepted", run=given.run_id)
        return await self._end(given.run_id, run.events())

    async def _end(self, run_id: str, events: Any) -> str:
        """A page keeps the messages and the questions that a run shows at its end."""
        self._shown = []
        async with aclosing(events):
            async for event in events:
                if event.type in SHOWN:
                    self._shown.append(event)
        end = self._shown[-1]
        outcome = str(getattr(end, "code", None) or end.outcome.type)
        self.journal.note("end", run=run_id, outcome=outcome, detail=getattr(end, "metadata", None))
        return outcome

    async def load(self) -> tuple[list[Json], list[str]]:
        """The history and the ids of the open questions: those of the last run, or as a page shows them after a reload."""
        if len(self._shown) != len(SHOWN) - 1:
            self._shown = [event for event in await connect_events(self.graph, self.thread_id, None) if event.type in SHOWN]
        messages, end = [event.model_dump(mode="json", by_alias=True) for event in self._shown]
        return messages["messages"], [asked["id"] for asked in end["outcome"].get("interrupts", ())]

    async def messages(self) -> list[Json]:
        """What the thread holds, without what is drawn by lot (the ids of the model's messages)."""
        state = await self.graph.aget_state({"configurable": {"thread_id": self.thread_id}})
        return [_told(message) for message in state.values.get("messages", ())]


def _told(message: BaseMessage) -> Json:
    told: Json = {"type": message.type, "text": message.text[:40]}
    if isinstance(message, AIMessage):
        told["calls"] = [call["id"] for call in message.tool_calls]
    return told | ({"of": message.tool_call_id} if message.type == "tool" else {})  # type: ignore[attr-defined]


# -- processes


def start(world: World, thread_id: str, request: Json, stop: Boundary | None = None, how: int = signal.SIGKILL) -> BaseProcess:
    """A process that sends one request, and is stopped at a boundary."""
    process = FORKS.Process(target=_one_run, args=(world, thread_id, request, stop, int(how)))
    process.start()
    return process


def _one_run(world: World, thread_id: str, request: Json, stop: Boundary | None, how: int) -> None:
    quiet()
    clients = world.clients()
    Boundaries(world.journal(thread_id), clients, stop, how)
    asyncio.run(Client(world, thread_id, clients).send(request))


def quiet() -> None:
    """What goes wrong is in the journal."""
    logging.disable()
