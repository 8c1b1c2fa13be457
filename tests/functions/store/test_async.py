"""The saver beside an event loop: what the loop's own thread never does, and how many calls wait at once. No time is measured."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import ASYNC_THREADS, CALL_THREADS, dynamodb_client
from graphs.messages import DeltaMessagesState
from tests.functions.store.conftest import MakeSaver
from tests.support import graphs
from tests.support.agent_thread import single
from tests.support.checkpoints import checkpoint, config
from tests.support.dynamodb import REGION, Dynamo

RUNS = 16
PATIENCE = 60
"""Seconds after which what is waited for will not come."""


class Gate(ThreadingHTTPServer):
    """An empty table that answers nothing until it is opened. Counts the calls that wait, and the connections."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Held)
        self.opened = threading.Event()
        self.lock = threading.Lock()
        self.waiting = self.most = self.connections = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
        yield
        with self.lock:
            self.waiting -= 1


class Held(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gate

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        with self.server.held():
            self.server.opened.wait(PATIENCE)
        empty = {"Items": [], "Count": 0} if self.headers["x-amz-target"].endswith("Query") else {}
        body = json.dumps(empty).encode()
        self.send_response(200)
        self.send_header("content-type", "application/x-amz-json-1.0")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal."""


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.opened.set()
        server.shutdown()
        thread.join()


def saver_at(gate: Gate) -> DynamoDBSaver:
    return DynamoDBSaver("checkpoints", client=dynamodb_client(f"http://127.0.0.1:{gate.server_port}", REGION))


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 - the server's threads count
            await asyncio.sleep(0.01)


async def test_sixteen_runs_wait_at_once_and_the_loop_goes_on(gate: Gate) -> None:
    """Each run has its call under way (asyncio's own threads would take six at a time on two cores), while the loop does other work."""

    async def node(state: DeltaMessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "done")]}

    graph = single(node, DeltaMessagesState).compile(checkpointer=saver_at(gate))
    runs = [asyncio.create_task(graph.ainvoke({"messages": [("user", "go")]}, config(f"t{n}", None))) for n in range(RUNS)]
    await until(lambda: gate.waiting == RUNS)
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert gate.waiting == RUNS
    gate.opened.set()
    assert [len(done["messages"]) for done in await asyncio.gather(*runs)] == [2] * RUNS


async def test_every_thread_has_a_connection(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    """With all threads of the saver calling at once, and again, no connection is thrown away (botocore says so) or opened anew."""
    saver = saver_at(gate)
    for thread in range(ASYNC_THREADS):
        saver._epochs.see(saver.partition(f"t{thread}"), 0)
    with caplog.at_level(logging.WARNING, "urllib3.connectionpool"):
        for _ in range(2):
            gate.opened.clear()
            reads = [asyncio.create_task(saver.aget_tuple(config(f"t{n}", "", "1"))) for n in range(ASYNC_THREADS)]
            await until(lambda: gate.waiting == ASYNC_THREADS + CALL_THREADS)
            gate.opened.set()
            await asyncio.gather(*reads)
    assert [record.getMessage() for record in caplog.records] == []
    assert gate.connections == gate.most == ASYNC_THREADS + CALL_THREADS


async def test_the_loop_calls_nothing(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """No async method sends a request, or waits for one, on the loop's own thread; nor do a run and a look at its history."""
    client = dynamo.fresh_client()
    callers: list[tuple[str, str]] = []
    client.meta.events.register("before-call.dynamodb", lambda model, **_: callers.append((model.name, threading.current_thread().name)))
    saver = make_saver(client=client, ttl_seconds=1_000)
    first = await saver.aput(config("t"), checkpoint({"log": [1]}), {"source": "input", "step": -1}, {})
    await saver.aput_writes(first, [("log", 1)], "task")
    await saver.aget_tuple(first)
    assert [found async for found in saver.alist(config("t"))]
    assert [found async for found in saver.alist(None)]
    await saver.aget_delta_channel_history(config=first, channels=["log"])
    await saver.acopy_thread("t", "copy")
    await saver.aprune(["t"])
    await saver.adelete_for_runs(["run"])
    await saver.adelete_thread("t")
    graph = graphs.delta_log(saver)
    await graph.ainvoke({"log": ["a"]}, config("graph", None))
    assert [state async for state in graph.aget_state_history(config("graph", None))]
    assert {name.rstrip("0123456789_") for _, name in callers} == {"checkpoints", "store-call"}
    assert {"PutItem", "UpdateItem", "Query", "GetItem", "Scan", "BatchWriteItem"} <= {operation for operation, _ in callers}
