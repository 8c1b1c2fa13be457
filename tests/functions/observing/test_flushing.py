"""Traces leave before the environment freezes: what a collector has when the runtime asks for the next event."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from functions.observing import flushing
from functions.observing.flushing import flush_exporters
from tests.support.collectors import Collector, collector
from tests.support.emf import total
from tests.support.worker import Worker, worker

pytestmark = pytest.mark.long

AGENT = "reactAgent"
QUESTION = "what is the leave policy?"
PATIENT = {"AGENTS_FLUSH_SECONDS": "100"}
"""The tests' machine may be slow, which is no failure."""


def langsmith(at: Collector) -> dict[str, str]:
    return {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": at.url,
        "LANGSMITH_API_KEY": "lsv2_pt_test",
        "LANGSMITH_PROJECT": "tests",
        **PATIENT,
    }


def arrived_at_next(running: Worker, at: Collector) -> list[int]:
    """How many posts had come whenever `next` was asked for."""
    counts: list[int] = []
    look = running.api._look

    def counted() -> object:
        counts.append(len(at.posts))
        return look()

    running.api._look = counted  # type: ignore[assignment]
    return counts


async def test_langsmith_has_the_run_before_next(moto_endpoint: str, tmp_path: Path) -> None:
    """Graph, model and tool, each of two runs: LangSmith's thread sends them in its own time, which a frozen environment has none of."""
    with collector() as at:
        async with worker(AGENT, moto_endpoint, tmp_path, **langsmith(at)) as running:
            counts = arrived_at_next(running, at)
            await running.run(QUESTION, thread="one")
            assert at.runs() == {"reactAgent", "OfflineModel", "kb_search"}
            await running.run(QUESTION, thread="two")
        assert 0 < counts[0] < counts[1] == len(at.posts)


async def test_spans_are_out_before_next(moto_endpoint: str, tmp_path: Path) -> None:
    """With an OTLP endpoint in the environment and the extra installed: FastAPI's span of the request, with the run's ids."""
    with collector() as at:
        async with worker(AGENT, moto_endpoint, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=at.url, **PATIENT) as running:
            counts = arrived_at_next(running, at)
            events, written = await running.run(QUESTION, thread="one", run="run-1")
            (span,) = (span for span in at.spans() if "agents.run_id" in span)
        assert counts[0] == len(at.posts)
    assert span["name"] == "POST /"
    assert (span["agents.agent"], span["agents.run_id"], span["agents.outcome"]) == (AGENT, "run-1", "success")
    assert span["agents.trace_id"] == events[0]["metadata"]["traceId"]
    assert QUESTION not in str(at.posts)
    assert total(written.points, "Runs", agent=AGENT, outcome="success") == 1


SETUP = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""


async def test_what_a_layer_has_set_up_is_sent_once(moto_endpoint: str, tmp_path: Path) -> None:
    """`otel-instrument` configures the SDK before Python runs anything of ours: its exporter is flushed, and no second one is added."""
    (tmp_path / "sitecustomize.py").write_text(SETUP, encoding="utf-8")
    with collector() as at:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": at.url, "PYTHONPATH": str(tmp_path), **PATIENT}
        async with worker(AGENT, moto_endpoint, tmp_path, **environment) as running:
            await running.run(QUESTION, run="run-1")
            spans = [span for span in at.spans() if span.get("agents.run_id") == "run-1"]
    assert len(spans) == 1


@pytest.mark.parametrize("fault", ["refuses", "is silent"])
async def test_a_broken_collector_costs_no_run(moto_endpoint: str, tmp_path: Path, fault: str) -> None:
    """The client has its whole answer first, the run its metrics, the log a warning, and the invocation ends: it is bounded in time."""
    with collector(answers=503 if fault == "refuses" else 200, waits=8 if fault == "is silent" else 0) as at:
        async with worker(AGENT, moto_endpoint, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=at.url) as running:
            events, written = await running.run(QUESTION)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert total(written.points, "Runs", agent=AGENT, outcome="success") == 1
    assert [line for line in written.lines if line["level"] in ("WARNING", "ERROR")]


def test_nothing_is_loaded_where_both_are_off() -> None:
    """No exporter and no client is made to find out that there is nothing to send. (OpenTelemetry's SDK, where it is
    installed, is loaded by langsmith's own import.)"""
    code = (
        "import asyncio, sys, functions.entry; from functions.observing.flushing import exporters, flush_exporters;"
        "before = set(sys.modules); asyncio.run(flush_exporters(2));"
        "names = [n for n in sys.modules if n.startswith('opentelemetry.exporter')];"
        "print(list(exporters()), names, sorted(set(sys.modules) - before))"
    )
    environment = {"AGENTS_NAME": "writer", "AGENTS_AUTH": "none", "AWS_REGION": "us-east-1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout == "[] [] []\n"


async def test_flushing_gives_up_in_time(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """OpenTelemetry's SDK does not look at the time it is given: it is left alone, said, and not waited for."""
    provider = SimpleNamespace(force_flush=lambda milliseconds: time.sleep(3))
    monkeypatch.setattr(flushing, "exporters", lambda: iter([("Slow", lambda seconds: flushing._flush_otel(provider, seconds))]))
    began = time.perf_counter()
    await flush_exporters(0.1)
    assert time.perf_counter() - began < 2
    assert "Slow: traces of this run may be late or lost" in caplog.text


async def test_a_failure_is_logged_and_not_raised(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing that an exporter does may become the run's."""

    def broken(seconds: float) -> bool:
        raise ConnectionError("no collector")

    monkeypatch.setattr(flushing, "exporters", lambda: iter([("Broken", broken), ("Whole", lambda seconds: True)]))
    with caplog.at_level(logging.WARNING):
        await flush_exporters(1)
    assert [record.message for record in caplog.records] == ["Broken: traces of this run were not sent"]
    assert "no collector" in caplog.text


async def test_no_exporter_takes_no_time() -> None:
    """Off, it makes no thread and no task."""
    before = asyncio.all_tasks()
    await flush_exporters(2)
    assert asyncio.all_tasks() == before
