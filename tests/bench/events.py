"""What it costs to keep the events of a run, by how fast its model speaks: fewer tokens a second are more batches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

from ag_ui.core import RunFinishedEvent, RunStartedEvent, TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent

from functions.runs.event_log import event_log
from functions.runs.recording import Recorder
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client
from functions.store.tables import create_tables
from functions.web.sse import encode
from tests.bench.dynamodb import REGION, emulator
from tests.bench.report import Check, Measured, Row
from tests.support.meter import Meter

RATES = (20, 100)
"""Tokens a second."""
LIMITS = {20: 60, 100: 25}
"""Write units for 1,000 tokens."""
DOLLARS = 0.625 / 1_000_000
"""Of a write unit on demand in us-east-1 (https://aws.amazon.com/dynamodb/pricing/on-demand/, 2026-11)."""
MESSAGE = f"lc_run--{UUID(int=2**127)}"
WORDS = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split()[1_000:]


async def measure_events(tokens: int = 1_000) -> Measured:
    """A row for each rate, of 1,000 tokens; taken side by side in real time: a second is what batches are cut by."""
    with emulator() as endpoint:
        table = create_tables(dynamodb_client(endpoint, REGION), "bench-")["checkpoints"]
        rows = await asyncio.gather(*(_row(endpoint, table, rate, tokens) for rate in RATES))
    checks = [
        Check(f"write units of 1,000 tokens at {rate} a second", row["write_units"], LIMITS[rate], "units")
        for rate, row in zip(RATES, rows, strict=True)
    ]
    title = f"What keeping the events of an answer of {tokens:,} tokens costs"
    return Measured("events", title, rows, checks, "write_units")


async def _row(endpoint: str, table: str, rate: int, tokens: int) -> Row:
    client = dynamodb_client(endpoint, REGION)
    meter = Meter(client)
    recorder = Recorder(event_log(DynamoDBSaver(table, client=client), f"at {rate}", "run", 86_400), encode)
    recorder.begin(await recorder.last(), 1, "")
    sent = await _speak(recorder, rate, tokens)
    scale = 1_000 / tokens
    return {
        "way": f"{rate} tokens a second",
        "batches": round(meter.operations["PutItem"] * scale),
        "write_units": round(meter.write_units * scale, 1),
        "kb_written": round(meter.written * scale / 1_000, 1),
        "kb_sent": round(sent * scale / 1_000, 1),
        "dollars_per_million_tokens": round(meter.write_units / tokens * 1_000_000 * DOLLARS, 4),
    }


async def _speak(recorder: Recorder, rate: int, tokens: int) -> int:
    """The events of one answer, at the pace of its model → bytes that a client was sent."""
    end = RunFinishedEvent(thread_id="t", run_id="run")
    sent = len(recorder.frame(RunStartedEvent(protocol_version="1.0", thread_id="t", run_id="run")))
    sent += len(recorder.frame(TextMessageStartEvent(message_id=MESSAGE)))
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(tokens):
        await asyncio.sleep(max(0.0, began + number / rate - loop.time()))
        sent += len(recorder.frame(TextMessageContentEvent(message_id=MESSAGE, delta=f"{WORDS[number % len(WORDS)]} ")))
    sent += len(recorder.frame(TextMessageEndEvent(message_id=MESSAGE)))
    await recorder.end(end)
    return sent + len(recorder.frame(end))
