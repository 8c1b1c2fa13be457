"""The threads of a caller over HTTP: made, listed, named, pinned, read back in time, deleted; and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from functions.settings import Settings
from functions.store.checkpoints import DynamoDBSaver
from functions.web import create_app
from tests.functions.web.test_app import body, client_of
from tests.support.dynamodb import Dynamo
from tests.support.events import url_event
from tests.support.sse import read_sse

ANN, BEN = "arn:aws:iam::1:user/ann", "arn:aws:iam::1:user/ben"
Clients = Callable[..., Any]


@pytest.fixture
def clients(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> Clients:
    """`clients(who)`: a client of `dev` that is this IAM identity; each has a process of its own, as far as our code can tell."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)
    prefix = dynamo.tables["threads"].removesuffix("threads")
    settings = Settings(auth="iam", table_prefix=prefix, offline_delay_ms=0, lease_seconds=30)

    @asynccontextmanager
    async def client(who: str = ANN, agent: str = "dev") -> AsyncIterator[httpx.AsyncClient]:
        event = url_event("/", "POST")
        event["requestContext"]["authorizer"] = {"iam": {"userArn": who}}
        async with client_of(create_app(agent, settings), **{"aws.event": event}) as found:
            yield found

    return client


async def listed(client: httpx.AsyncClient, **query: Any) -> list[str]:
    return [row["threadId"] for row in (await client.get("/threads", params=query)).json()["threads"]]


# the list


async def test_a_conversation_is_made_before_it_is_run(clients: Clients) -> None:
    """It is listed and can be read, empty; made twice it is one; a title that comes with it stays."""
    async with clients() as client:
        made = await client.post("/threads")
        named = await client.post("/threads", json={"threadId": "t", "title": "Mine"})
        again = await client.post("/threads", json={"threadId": "t", "title": "Other"})
        empty = await client.get("/threads/t/messages")
        await client.post("/", json=body("start demo"))
        row = (await client.get("/threads/t")).json()
        found = await listed(client)
    assert (made.status_code, named.status_code, again.status_code) == (201, 201, 200)
    assert (made.json()["titledBy"], made.json()["pinned"]) == ("rule", False)
    assert empty.json() == {"messages": [], "interrupts": []}
    assert (again.json()["title"], row["title"], row["titledBy"]) == ("Mine", "Mine", "user")
    assert found == ["t", made.json()["threadId"]]


async def test_pinned_ones_come_first(clients: Clients) -> None:
    """Over all pages, also when they or others are run again, and until they are unpinned."""
    async with clients() as client:
        for thread in ("a", "b", "c", "d"):
            await client.post("/threads", json={"threadId": thread})
            await asyncio.sleep(0.002)
        pinned = await client.patch("/threads/b", json={"pinned": True, "title": "B"})
        assert (pinned.json()["pinned"], pinned.json()["title"]) == (True, "B")
        assert await listed(client) == ["b", "d", "c", "a"]
        await client.patch("/threads/a", json={"pinned": True})
        await client.post("/", json=body("start demo", thread="b"))
        await client.post("/", json=body("start demo", thread="c"))
        assert await listed(client) == ["b", "a", "c", "d"]
        first = (await client.get("/threads", params={"limit": 3})).json()
        second = (await client.get("/threads", params={"limit": 3, "cursor": first["cursor"]})).json()
        assert [row["threadId"] for row in (*first["threads"], *second["threads"])] == ["b", "a", "c", "d"]
        for _ in range(2):
            await client.patch("/threads/b", json={"pinned": False})
        assert await listed(client) == ["a", "c", "b", "d"]


WRONG: dict[str, tuple[str, str, Any]] = {
    "no change": ("PATCH", "/threads/t", {}),
    "a list": ("PATCH", "/threads/t", []),
    "pinned is a word": ("PATCH", "/threads/t", {"pinned": "yes"}),
    "a blank title": ("PATCH", "/threads/t", {"title": " "}),
    "making a list": ("POST", "/threads", []),
    "making a path": ("POST", "/threads", {"threadId": "a/b"}),
    "making a number": ("POST", "/threads", {"threadId": 1}),
    "making a nameless title": ("POST", "/threads", {"title": ""}),
    "stopping a number": ("POST", "/threads/t/stop", {"runId": 1}),
    "stopping a list": ("POST", "/threads/t/stop", []),
    "stopping nothing": ("POST", "/threads/t/stop", {"runId": ""}),
    "a page of none": ("GET", "/threads/t/history?limit=0", None),
    "joining before the first event": ("GET", "/threads/t/runs/r/events?after=-1", None),
    "joining after a word": ("GET", "/threads/t/runs/r/events?after=x", None),
    "joining a path": ("GET", "/threads/a%5Cb/runs/r/events", None),
}


@pytest.mark.parametrize(("method", "path", "json"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_is_named(clients: Clients, method: str, path: str, json: Any) -> None:
    """422, and nothing is changed."""
    async with clients() as client:
        await client.post("/threads", json={"threadId": "t", "title": "T"})
        answer = await client.request(method, path, json=json)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BAD_INPUT")
        assert await listed(client) == ["t"]


# back in time


async def test_history_pages_back_to_the_beginning(clients: Clients) -> None:
    """Every checkpoint once, the latest first, with what a page needs to offer it."""
    async with clients() as client:
        question = read_sse((await client.post("/", json=body("start demo", run="r1"))).content)[-1]
        asked = question["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": asked, "status": "resolved", "payload": {"value": "hitlDemo"}}]
        await client.post("/", json=body(None, run="r2", resume=resume))
        whole = (await client.get("/threads/t/history", params={"limit": 100})).json()
        found: list[dict[str, Any]] = []
        cursor = None
        while cursor is not None or not found:
            page = (await client.get("/threads/t/history", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
            found, cursor = [*found, *page["checkpoints"]], page["cursor"]
    assert whole["cursor"] is None
    assert found == whole["checkpoints"]
    assert len(found) == 3
    assert [c["checkpointId"] for c in found[1:]] == [c["parentCheckpointId"] for c in found[:-1]]
    assert found[-1]["parentCheckpointId"] is None
    assert {c["runId"] for c in found} == {"r1", "r2"}
    assert found[0]["next"]
    assert all(c["createdAt"] for c in found)
    assert asked in [interrupt for c in found for interrupt in c["interrupts"]]


# deletion


class Slow:
    """A graph that works until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    def app(self, dynamo: Dynamo | None, **settings: Any) -> FastAPI:
        async def node(state: MessagesState) -> dict[str, Any]:
            self.begun.set()
            await self.go.wait()
            return {"messages": [AIMessage("late", id="a")]}

        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        saver: Any = DynamoDBSaver(dynamo.checkpoints, client=dynamo.client) if dynamo else InMemorySaver()
        return create_app("slow", Settings(auth="none", **settings), graph=builder.compile(checkpointer=saver))


@pytest.mark.parametrize("stored", [True, False], ids=["in the table", "in memory"])
async def test_a_live_thread_is_stopped_and_deleted(dynamo: Dynamo, stored: bool) -> None:
    """Its stream ends; nothing of it is left, and nothing comes afterwards."""
    slow = Slow()
    async with client_of(slow.app(dynamo if stored else None)) as client:
        running = asyncio.create_task(client.post("/", json=body("go", protocolVersion="1.0")))
        await slow.begun.wait()
        deleted = await client.delete("/threads/t")
        end = read_sse((await running).content)[-1]
        slow.go.set()
        await asyncio.sleep(0.5)
        gone = [(await client.get(path)).status_code for path in ("/threads/t/messages", "/threads/t/runs/r/events", "/threads/t/history")]
    assert (deleted.status_code, end["outcome"]["type"], gone) == (204, "cancelled", [404, 404, 404])
    left = [dynamo.client.scan(TableName=table)["Items"] for table in dynamo.tables.values()]
    assert left == [[], [], []]


async def test_a_deleted_thread_is_not_listed_again(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a run whose last work comes after the deletion; by a new run on the same id it is."""
    from functions.store.threads import Threads

    touch, ended, go = Threads.touch, asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def late(self: Threads, *args: Any, **more: Any) -> Any:
        loop.call_soon_threadsafe(ended.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result(20)
        return touch(self, *args, **more)

    async with clients() as client:
        await client.post("/", json=body("start demo"))
        monkeypatch.setattr(Threads, "touch", late)
        running = asyncio.create_task(client.post("/", json=body("again", run="r2")))
        await ended.wait()
        assert (await client.delete("/threads/t")).status_code == 204
        go.set()
        await running
        assert await listed(client) == []
        assert (await client.get("/threads/t")).status_code == 404
        assert (await client.patch("/threads/t", json={"title": "x"})).status_code == 404
        await client.post("/", json=body("anew", run="r3"))
        assert await listed(client) == ["t"]


# whose


ROUTES = [
    ("GET", "/threads/t", None),
    ("PATCH", "/threads/t", {"title": "stolen"}),
    ("PATCH", "/threads/t", {"pinned": True}),
    ("GET", "/threads/t/messages", None),
    ("GET", "/threads/t/state", None),
    ("GET", "/threads/t/history", None),
    ("POST", "/threads/t/stop", None),
    ("POST", "/threads/t/stop", {"runId": "r"}),
    ("GET", "/threads/t/runs/r/events", None),
    ("GET", "/threads/t/runs/r/events?after=1", None),
    ("DELETE", "/threads/t", None),
]


@pytest.mark.parametrize(
    ("who", "agent"), [(BEN, "dev"), (ANN, "reactAgent"), ("", "dev")], ids=["another caller", "another agent", "nobody"]
)
async def test_a_thread_is_its_owners(clients: Clients, who: str, agent: str) -> None:
    """For everybody else it is not there, by every route and verb, and stays as it was."""
    async with clients() as owner, clients(who, agent) as other:
        await owner.post("/", json=body("start demo"))
        before = [(await owner.get(f"/threads/t{path}")).json() for path in ("", "/messages", "/state", "/history")]
        replay = (await owner.get("/threads/t/runs/r/events")).content
        for method, path, json in ROUTES:
            answer = await other.request(method, path, json=json)
            assert answer.status_code == (404 if who else 403), (method, path, answer.text)
            assert "start demo" not in answer.text
        if who == BEN:
            assert await listed(other) == []
            assert (await other.post("/threads", json={"threadId": "t"})).status_code == 201
            connected = read_sse((await other.post("/connect", json={"threadId": "t"})).content)
            assert [e["messages"] for e in connected if e["type"] == "MESSAGES_SNAPSHOT"] == [[]]
            assert (await other.delete("/threads/t")).status_code == 204
        assert [(await owner.get(f"/threads/t{path}")).json() for path in ("", "/messages", "/state", "/history")] == before
        assert (await owner.get("/threads/t/runs/r/events")).content == replay


def test_every_route_of_a_thread_is_in_the_matrix() -> None:
    """And in the OpenAPI document."""
    document = create_app("dev", Settings(auth="none"), checkpointer=InMemorySaver()).openapi()
    routes = {(verb.upper(), path) for path, verbs in document["paths"].items() if "{thread_id}" in path for verb in verbs}
    places = {"/threads/t": "/threads/{thread_id}", "/runs/r/": "/runs/{run_id}/"}
    tried = set()
    for verb, path, _json in ROUTES:
        for place, name in places.items():
            path = path.partition("?")[0].replace(place, name)
        tried.add((verb, path))
    assert tried == routes


# hours


async def test_events_can_be_off() -> None:
    """Then nothing can be joined, and everything else is as it was."""
    async with client_of(
        create_app("dev", Settings(auth="none", offline_delay_ms=0, events_hours=0), checkpointer=InMemorySaver())
    ) as client:
        assert read_sse((await client.post("/", json=body())).content)[-1]["outcome"]["type"] == "interrupt"
        assert (await client.get("/threads/t/runs/r/events")).status_code == 404
