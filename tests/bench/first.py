"""The time to the first event, warm, by the length of the thread's history."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from functions.runs import AgentRun
from tests.bench.report import Check, Measured, Row
from tests.bench.rounds import WARM_UP
from tests.bench.subjects import FIRST_TOKEN, answering_graph, run_input, serve_ours
from tests.bench.threads import QUESTION, remember

HISTORIES = (1, 10, 100, 1_000)
LIMIT_MS = 5.0
TOKENS = 1


async def measure_first(rounds: int, histories: Sequence[int] = HISTORIES, *, dynamodb: bool = True) -> Measured:
    """A row per store and length of history. `served`: as the web app does it, which reads the thread before its first byte."""
    rows = [await _row("in memory", InMemorySaver(), length, rounds) for length in histories]
    if dynamodb:
        with dynamodb_saver() as saver:
            rows += [await _row("DynamoDB (moto)", saver, length, rounds) for length in histories]
    slowest = max(row["first_event_ms"] for row in rows)
    check = Check("the first event at the orchestrator, warm", slowest, LIMIT_MS, "ms")
    return Measured("first", "Time to the first event, by messages of history (2 KB each)", rows, [check], "first_token_ms")


async def _row(store: str, saver: BaseCheckpointSaver[Any], length: int, rounds: int) -> Row:
    graph = answering_graph(TOKENS, saver)
    taken = []
    for number in range(WARM_UP + rounds):
        known = await remember(graph, number, length)
        input = run_input(number, [*known, QUESTION])
        taken.append({**await _events(graph, input), "served_ms": await _served(graph, input)})
    return {"store": store, "messages": length, **_medians(taken[WARM_UP:])}


async def _events(graph: Any, input: RunAgentInput) -> dict[str, float]:
    """Milliseconds until the first event and until the first token."""
    gc.collect()
    began = time.perf_counter()
    moments: dict[str, float] = {}
    async for frame in serve_ours(graph, input):
        moments.setdefault("first_event_ms", time.perf_counter() - began)
        if FIRST_TOKEN in frame:
            moments.setdefault("first_token_ms", time.perf_counter() - began)
    return {name: moment * 1000 for name, moment in moments.items()}


async def _served(graph: Any, input: RunAgentInput) -> float:
    """Milliseconds until the first event of a run that was prepared first: while it is, HTTP can still answer with a status."""
    gc.collect()
    began = time.perf_counter()
    run = AgentRun(input.model_copy(update={"run_id": "again"}), graph, agent="bench")
    await run.prepare()
    async with aclosing(run.events()) as events:
        await anext(events)
        return (time.perf_counter() - began) * 1000


def _medians(taken: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(moments[name] for moments in taken), 2) for name in taken[0]}


@contextmanager
def dynamodb_saver() -> Iterator[BaseCheckpointSaver[Any]]:
    """Our checkpointer on an emulator in this process: its own time is part of what is measured."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_EC2_METADATA_DISABLED": "true"}
    from functions.store.checkpoints import DynamoDBSaver
    from functions.store.clients import dynamodb_client
    from functions.store.tables import create_tables
    from tests.support.moto_server import moto_server

    with moto_server() as endpoint:
        client = dynamodb_client(endpoint, "us-east-1")
        yield DynamoDBSaver(create_tables(client, "bench-")["checkpoints"], client=client)
