"""Several requests at once in one process: no line carries another run's ids, no metric another run's counts."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from functions.observing.middleware import Observing
from functions.settings import Settings
from functions.web import create_app
from tests.support.emf import embedded, json_lines
from tests.support.process_logs import process_logs
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder
from tests.support.worker import run_input

AT_ONCE = 8
SETTINGS = Settings(name="crowd", auth="none")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What the process's own logging writes."""
    with process_logs(SETTINGS, monkeypatch) as written:
        yield written


def crowd() -> Any:
    """Each run logs from its node, from a thread and from a task of its own, while the others do."""

    async def node(state: MessagesState) -> dict[str, Any]:
        said = str(state["messages"][-1].content)
        for _ in range(3):
            await asyncio.sleep(0.01)
            logging.getLogger("node").info("node of %s", said)
            await asyncio.to_thread(logging.getLogger("thread").info, "thread of %s", said)
            await asyncio.create_task(_log_later(said))
        return {"messages": [AIMessage(f"done {said}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=InMemorySaver())


async def _log_later(said: str) -> None:
    await asyncio.sleep(0.005)
    logging.getLogger("task").info("task of %s", said)


async def test_each_line_is_its_own_runs(log: io.StringIO, stream_recorder: StreamRecorder) -> None:
    """Eight runs that take turns: every line names the run whose node wrote it, also from threads and tasks; each has its metrics. Both
    AG-UI clients take the trace's id in RUN_STARTED."""
    app = Observing(create_app("crowd", SETTINGS, graph=crowd()), SETTINGS)
    with redirect_stdout(io.StringIO()) as out:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://url") as client:
            answers = await asyncio.gather(*(_ask(client, number) for number in range(AT_ONCE)))
    for input, raw in answers:
        stream_recorder.record("observed", input, read_sse(raw), raw=raw)
    lines = [line for line in json_lines(log.getvalue()) if " of run-" in str(line["message"])]
    assert len(lines) == AT_ONCE * 9
    assert [line for line in lines if not str(line["message"]).endswith(f" of {line['run_id']}")] == []
    assert {(line["run_id"], line["thread_id"], line["trace_id"], line["function_request_id"]) for line in lines} == {
        (f"run-{n}", f"thread-{n}", f"1-{n}", f"request-{n}") for n in range(AT_ONCE)
    }
    metrics = list(embedded(out.getvalue()))
    assert sorted(line["run_id"] for line in metrics if "RunDuration" in line) == [f"run-{n}" for n in range(AT_ONCE)]
    assert {(line["run_id"], line["thread_id"]) for line in metrics} == {(f"run-{n}", f"thread-{n}") for n in range(AT_ONCE)}
    assert sum(line["ColdStarts"][0] for line in metrics if "ColdStarts" in line) == 1


async def _ask(client: httpx.AsyncClient, number: int) -> tuple[dict[str, Any], bytes]:
    headers = {"x-amzn-trace-id": f"Root=1-{number};Sampled=0", "x-request-id": f"request-{number}"}
    input = run_input(f"run-{number}", f"thread-{number}", f"run-{number}")
    answer = await client.post("/", json=input, headers=headers)
    events = read_sse(answer.content)
    assert events[0]["metadata"] == {"traceId": f"1-{number}"}
    assert events[-1]["type"] == "RUN_FINISHED"
    return input, answer.content


async def test_a_request_leaves_nothing_behind(log: io.StringIO) -> None:
    """What is logged after it, in the same task, has no ids."""
    app = Observing(create_app("crowd", SETTINGS, graph=crowd()), SETTINGS)
    with redirect_stdout(io.StringIO()):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://url") as client:
            await _ask(client, 1)
    logging.getLogger("after").info("between two requests")
    line = list(json_lines(log.getvalue()))[-1]
    assert line["message"] == "between two requests"
    assert not {"run_id", "thread_id", "trace_id", "function_request_id", "user"} & set(line)


async def test_without_the_wrapper_nothing_is_written(log: io.StringIO) -> None:
    """A graph of one's own under a server of one's own prints no metrics and gets no metadata."""
    with redirect_stdout(io.StringIO()) as out:
        app = create_app("crowd", SETTINGS, graph=crowd())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://url") as client:
            answer = await client.post("/", json=run_input("hi", "t", "r"), headers={"x-amzn-trace-id": "Root=1-2"})
    assert "metadata" not in answer.text.split("\n")[0]
    assert out.getvalue() == ""
