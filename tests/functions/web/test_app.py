"""The HTTP surface of one agent, in process: routes, refusals, principals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from functions import own_event
from functions.runs.agents import UnknownAgent
from functions.settings import Settings
from functions.web import create_app
from graphs.catalog import AGENTS
from tests.support.sse import framing_faults, read_sse
from tests.support.streams import StreamRecorder

SETTINGS = Settings(auth="none", offline_delay_ms=0)


@asynccontextmanager
async def client_of(app: FastAPI, **scope: Any) -> AsyncIterator[httpx.AsyncClient]:
    async def with_scope(asgi_scope: Any, receive: Any, send: Any) -> None:
        await app({**asgi_scope, **scope}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(with_scope, raise_app_exceptions=False), base_url="http://url") as client:
        yield client


def body(text: str | None = "start demo", *, thread: str = "t", run: str = "r", **more: Any) -> dict[str, Any]:
    messages = [{"id": f"u-{run}", "role": "user", "content": text}] if text is not None else []
    return {"threadId": thread, "runId": run, "state": {}, "messages": messages, "tools": [], "context": [], "forwardedProps": {}, **more}


@pytest.fixture
def dev() -> FastAPI:
    return create_app("dev", SETTINGS, checkpointer=InMemorySaver())


def own_graph(saver: Any) -> Any:
    """START → one fixed answer → END."""

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("hello", id="a1")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


async def test_nobody_calls_what_is_the_functions_own(dev: FastAPI) -> None:
    """The place of events that the function sends to itself is no place for a request, whatever it brings; nor is it documented."""
    told = {"principal": "other", "thread_id": "t", "run_id": "r", "holder": "h"}
    async with client_of(dev) as client:
        for sent in ({"json": told}, {"json": {own_event.KEY: told}, "headers": {own_event.SCOPE: "x"}}):
            assert (await client.post(own_event.PATH, **sent)).status_code == 404
        assert own_event.PATH not in (await client.get("/openapi.json")).text


async def test_a_run_is_a_legal_stream(dev: FastAPI, stream_recorder: StreamRecorder) -> None:
    """POST / answers 200 with AG-UI events, LF-framed, not cached, not buffered."""
    async with client_of(dev) as client:
        answer = await client.post("/", json=body())
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache"
    assert "content-length" not in answer.headers
    assert list(framing_faults(answer.content)) == []
    stream_recorder.record("web-dev", body(), read_sse(answer.content), raw=answer.content)


async def test_connect_shows_what_the_run_ended_with(dev: FastAPI) -> None:
    """A reload gets the same messages, state and open interrupts, in the same shape."""
    async with client_of(dev) as client:
        run = read_sse((await client.post("/", json=body())).content)
        again = read_sse((await client.post("/connect", json={"threadId": "t"})).content)
    assert [e["type"] for e in again] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert again[-1]["outcome"] == run[-1]["outcome"]
    assert again[0]["runId"].startswith("connect-")


async def test_a_thread_can_be_read(dev: FastAPI) -> None:
    """`/threads/{id}/messages` and `/state` are the checkpoint's, with what is open."""
    async with client_of(dev) as client:
        await client.post("/", json=body())
        messages = (await client.get("/threads/t/messages")).json()
        state = (await client.get("/threads/t/state")).json()
    assert [m["content"] for m in messages["messages"]] == ["start demo"]
    assert state["state"]["input"] == "start demo"
    assert [i["reason"] for i in state["interrupts"]] == ["select"]


REFUSED: dict[str, tuple[str, str, Mapping[str, Any], int, str]] = {
    "an unknown thread": ("GET", "/threads/none/messages", {}, 404, "NOT_FOUND"),
    "an unknown path": ("GET", "/nothing", {}, 404, "NOT_FOUND"),
    "a wrong method": ("PUT", "/", {}, 405, "METHOD_NOT_ALLOWED"),
    "not JSON": ("POST", "/", {"content": b"{"}, 400, "BAD_INPUT"),
    "not UTF-8": ("POST", "/", {"content": b"\xff\xfe"}, 400, "BAD_INPUT"),
    "NaN": ("POST", "/", {"content": b'{"threadId": NaN}'}, 400, "BAD_INPUT"),
    "a number that no checkpoint holds": ("POST", "/", {"content": b'{"state": {"x": 1' + b"0" * 40 + b"}}"}, 400, "BAD_INPUT"),
    "a number without end": ("POST", "/", {"content": b'{"state": {"x": 1e999}}'}, 400, "BAD_INPUT"),
    "deeper than a checkpoint": ("POST", "/", {"content": b'{"state": ' + b"[" * 200 + b"]" * 200 + b"}"}, 400, "BAD_INPUT"),
    "nested without end": ("POST", "/", {"content": b"[" * 100_000}, 400, "BAD_INPUT"),
    "too large": ("POST", "/", {"content": b" " * (SETTINGS.max_body_bytes + 1)}, 413, "BODY_TOO_LARGE"),
    "connect without a thread": ("POST", "/connect", {"json": {}}, 422, "BAD_INPUT"),
    "connect to a path": ("POST", "/connect", {"json": {"threadId": "a/b"}}, 422, "BAD_INPUT"),
    "the messages of a query": ("GET", "/threads/a%3Fb/messages", {}, 422, "BAD_INPUT"),
    "the state of a Windows path": ("GET", "/threads/a%5Cb/state", {}, 422, "BAD_INPUT"),
    "connect to a nameless thread": ("POST", "/connect", {"json": {"threadId": ""}}, 422, "BAD_INPUT"),
}


@pytest.mark.parametrize(("method", "path", "content", "status", "code"), REFUSED.values(), ids=REFUSED)
async def test_a_refusal_is_a_status_and_a_code(
    dev: FastAPI, method: str, path: str, content: Mapping[str, Any], status: int, code: str
) -> None:
    """Before a stream every error has the same body: `{"error": {"code", "message"}}`."""
    async with client_of(dev) as client:
        answer = await client.request(method, path, **content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "Traceback" not in answer.text


async def test_nothing_to_do_is_said_before_the_stream(dev: FastAPI) -> None:
    """A thread with an end and an input without a message: 422, not an empty stream."""
    async with client_of(create_app("mine", SETTINGS, graph=own_graph(InMemorySaver()))) as client:
        await client.post("/", json=body())
        answer = await client.post("/", json=body(None, run="r2"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BAD_INPUT")


async def test_a_graph_of_ones_own_is_served(stream_recorder: StreamRecorder) -> None:
    """`create_app` takes any compiled graph under any name; its state is shown whole."""
    async with client_of(create_app("mine", SETTINGS, graph=own_graph(InMemorySaver()))) as client:
        answer = await client.post("/", json=body("hi"))
        info = (await client.get("/info")).json()
    events = read_sse(answer.content)
    stream_recorder.record("web-own-graph", body("hi"), events, raw=answer.content)
    assert info["name"] == "mine"
    assert "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT") == "hello"


class Unreachable(InMemorySaver):
    """A store that is down."""

    async def aget_tuple(self, config: Any) -> Any:
        raise ConnectionRefusedError("10.0.0.7:443 refused")


async def test_a_store_that_is_down_ends_in_run_error(stream_recorder: StreamRecorder) -> None:
    """The stream is legal and says what happened, without the host's name."""
    async with client_of(create_app("mine", SETTINGS, graph=own_graph(Unreachable()))) as client:
        answer = await client.post("/", json=body("hi"))
    events = read_sse(answer.content)
    stream_recorder.record("web-store-down", body("hi"), events, raw=answer.content)
    assert (answer.status_code, events[-1]["type"], events[-1]["code"]) == (200, "RUN_ERROR", "UPSTREAM_UNREACHABLE")
    assert "10.0.0.7" not in answer.text


async def test_info_and_catalog(dev: FastAPI) -> None:
    """What the function is, what it can do, and who else is there; health touches nothing."""
    async with client_of(dev) as client:
        info = (await client.get("/info")).json()
        catalog = (await client.get("/agents")).json()["agents"]
        alive = [(await client.get(path)).json() for path in ("/health", "/ok", "/ping")]
        document = (await client.get("/openapi.json")).json()
        docs = await client.get("/docs")
    assert (info["name"], info["protocolVersion"], info["offline"]) == ("dev", "1.0", True)
    assert info["capabilities"]["humanInTheLoop"]["interrupts"] is True
    assert [a["name"] for a in catalog] == list(AGENTS)
    assert alive == [{"status": "ok"}] * 3
    assert {"/", "/connect", "/info", "/agents", "/health", "/threads/{thread_id}/messages"} <= set(document["paths"])
    assert document["components"]["schemas"]["RunAgentInput"]["required"] == ["threadId", "runId", "messages"]
    assert "openapi.json" in docs.text


def test_an_unknown_agent_is_named() -> None:
    """The error says which agents there are."""
    with pytest.raises(UnknownAgent, match="dev"):
        create_app("nobody", SETTINGS, checkpointer=InMemorySaver())


EVENT = {"requestContext": {"authorizer": {"iam": {"userArn": "arn:aws:iam::1:user/ann"}}}}


async def test_iam_needs_an_identity() -> None:
    """Under `iam` a request without the function URL's identity is refused by every route but health."""
    app = create_app("dev", Settings(auth="iam"), checkpointer=InMemorySaver())
    async with client_of(app) as client:
        answers = [await client.post("/", json=body()), await client.get("/info"), await client.get("/threads/t/messages")]
        alive = await client.get("/health")
    assert {a.status_code for a in answers} == {403}
    assert alive.status_code == 200
    async with client_of(app, **{"aws.event": EVENT}) as client:
        assert (await client.get("/info")).status_code == 200


async def test_on_lambda_the_identity_is_asked_for_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a laptop may forget to say who its callers are."""
    assert Settings().auth == "none"
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "agents-dev")
    assert Settings().auth == "iam"


async def test_cors_only_where_the_app_is_asked_to() -> None:
    """A function URL answers CORS itself: two answers would be one too many for a browser."""
    for cors, wanted in ((False, None), (True, "*")):
        app = create_app("dev", SETTINGS.model_copy(update={"cors": cors}), checkpointer=InMemorySaver())
        async with client_of(app) as client:
            answer = await client.get("/health", headers={"Origin": "https://page.example"})
        assert answer.headers.get("access-control-allow-origin") == wanted


async def test_an_agent_that_cannot_run_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """503 before a run, and the reason in `/info`; what its threads hold can still be read."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    app = create_app("claudeAgent", Settings(auth="none", model="openai:gpt-x"), checkpointer=InMemorySaver())
    async with client_of(app) as client:
        refused = await client.post("/", json=body())
        info = (await client.get("/info")).json()
        thread = await client.get("/threads/t/messages")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "AGENT_UNAVAILABLE")
    assert "anthropic:…" in refused.json()["error"]["message"] == info["unavailable"]
    assert thread.json()["error"]["code"] == "NOT_FOUND"
