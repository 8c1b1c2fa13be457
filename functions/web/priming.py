"""What a process does once before its snapshot is taken (SnapStart), so that no clone has to: what libraries build at their first use.

A run of a graph without a model, on a checkpointer in memory, through an app of its own; and one call of each kind through the agent's
DynamoDB client, answered before it is sent. Nothing leaves the process, nothing is stored, no thread and no socket stay.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import BotoCoreError, ClientError
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from functions.settings import Settings
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import StoreError
from functions.web.app import create_app

log = logging.getLogger(__name__)

_RUN = {
    "threadId": "primed",
    "runId": "primed",
    "messages": [{"id": "u", "role": "user", "content": "hello"}],
    **{"tools": [], "context": [], "state": {}, "forwardedProps": {}},
}
_NOTHING: dict[str, Any] = {"Responses": {}, "Items": [], "Attributes": {}}


async def prime(app: FastAPI, settings: Settings) -> None:
    """Its failure is logged: the first run of each clone is slower then, and as right."""
    loop = asyncio.get_running_loop()
    threads = ThreadPoolExecutor()
    loop.set_default_executor(threads)
    try:
        await _asked(app, "GET", "/health", b"")
        await _asked(_other_app(settings), "POST", "/", json.dumps(_RUN).encode())
        _call_the_store(app.state.served.agent.graph.checkpointer)
    except Exception:
        log.exception("the process is not primed: its clones begin slower")
    finally:
        threads.shutdown()
        loop.set_default_executor(ThreadPoolExecutor())  # it has no thread before it is used


def _other_app(settings: Settings) -> FastAPI:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [AIMessage("hello")]})
    graph.add_edge(START, "answer")
    open_ = settings.model_copy(update={"auth": "none", "secrets": {}})
    return create_app("primed", open_, graph=graph.compile(checkpointer=InMemorySaver()))


async def _asked(app: FastAPI, method: str, path: str, body: bytes) -> None:
    """One request, its answer read to the end."""
    request: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if request:
            return request.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        return None

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": method, "path": path}
    await app({**scope, "raw_path": path.encode(), "query_string": b"", "headers": headers, "scheme": "https", "state": {}}, receive, send)


def _call_the_store(saver: Any) -> None:
    """What a run asks of it: leases are updated, checkpoints looked for, writes sent together."""
    if not isinstance(saver, DynamoDBSaver):
        return
    table = saver.leases.reader.table
    with _answered(table.client):
        for call in (
            lambda: table.get("primed", "primed"),
            lambda: list(table.query("primed", "a", "b")),
            lambda: table.update("primed", "primed", UpdateExpression="SET a = :a", ExpressionAttributeValues={":a": {"S": "a"}}),
            lambda: table.put({"pk": {"S": "primed"}, "sk": {"S": "primed"}}),
        ):
            try:
                call()
            except (BotoCoreError, ClientError, StoreError) as error:
                log.info("a call of the store is not primed: %s", error)


class _Body:
    """Of an answer that no network has brought."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._data


@contextmanager
def _answered(client: Any) -> Iterator[None]:
    """The client's calls are answered before they are sent."""

    def answer(request: Any, **_: Any) -> AWSResponse:
        body: Any = _Body(json.dumps(_NOTHING).encode())
        return AWSResponse(request.url, 200, HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"}), body)

    events = client.meta.events
    events.register_first("before-send", answer)
    try:
        yield
    finally:
        events.unregister("before-send", answer)
