"""The whole path of a token: graph → AG-UI → SSE → ASGI → runtime loop → chunk at Lambda's Runtime API, over a real socket.

The Runtime API runs in a process of its own, as on Lambda, so the CPU that is counted is the function's.
"""

from __future__ import annotations

import asyncio
import io
import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, redirect_stdout
from functools import partial
from typing import Any

from functions.observing.middleware import Observing
from functions.runtime.client import RuntimeClient
from functions.runtime.loop import Environment
from functions.settings import Settings
from functions.web import create_app
from tests.bench.remote import remote_runtime_api
from tests.bench.report import Check, Measured
from tests.bench.rounds import Sample, compare, per_token, ratio
from tests.bench.subjects import FLOOR, OURS, SUBJECTS, Subject, answering_graph, run_input
from tests.support.events import url_event

PATH = "at the Runtime API"
UNOBSERVED = "the same, not observed"
LIMIT = 1.8


@asynccontextmanager
async def runtime(graph: Any, *, observed: bool) -> AsyncIterator[Subject]:
    """The runtime loop with the app of `graph`; what it gives invokes it once a run, on a thread of its own. `observed`: as
    `functions.entry` has it, with the metrics of each run."""
    app = create_app("bench", Settings(), graph=graph)
    async with remote_runtime_api() as api:
        environment = Environment(Observing(app, Settings(name="bench")) if observed else app, RuntimeClient(api.address))
        running = asyncio.create_task(environment.run())

        async def at_runtime_api(_: Any, number: int) -> AsyncIterator[bytes]:
            body = run_input(number).model_dump_json(by_alias=True, exclude_none=True)
            for chunk in await api.ask(url_event("/", "POST", body)):
                yield chunk

        try:
            yield at_runtime_api
        finally:
            environment.stop()
            await running


async def measure_path(tokens: int, rounds: int) -> Measured:
    """Drain, stream and whole path; the path's ratio is to the drain."""
    make = partial(answering_graph, tokens)  # a graph for each: the threads are the same
    async with runtime(make(), observed=False) as unobserved, runtime(make(), observed=True) as at_runtime_api:
        subjects = {FLOOR: SUBJECTS[FLOOR], OURS: SUBJECTS[OURS], UNOBSERVED: unobserved, PATH: at_runtime_api}
        with redirect_stdout(io.StringIO()):  # the metrics' lines
            samples = await compare(subjects, make, rounds)
    rows = [_row(name, taken, samples[FLOOR], tokens) for name, taken in samples.items()]
    check = Check("a token from the graph to its chunk at the Runtime API, beside the bare v3 drain", rows[-1]["vs_drain"], LIMIT, "×")
    return Measured("path", f"One token of {tokens}, graph → chunk at the Runtime API (CPU of the function)", rows, [check], "us_per_token")


def _row(name: str, taken: Sequence[Sample], floor: Sequence[Sample], tokens: int) -> dict[str, Any]:
    cost = per_token(taken, tokens)
    del cost["first_token_ms"]  # the answer comes back whole from the other process
    return {"way": name, **cost, "chunks": round(statistics.median(sample.chunks for sample in taken)), "vs_drain": ratio(taken, floor)}
