"""The README's Python does what it says, as written there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver

import graphs
from functions.runs import agents
from functions.settings import Settings
from functions.web import create_app
from graphs.catalog import AGENTS, AgentSpec, Deps
from graphs.models import ScriptedModel
from tests.support.agent_thread import AgentThread, Json, Run
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def snippets(heading: str, language: str) -> list[str]:
    """The fenced blocks of that language below a heading, up to the next one."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [dedent(block) for block in re.findall(rf"^ *```{language}\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)]


async def post(app: Any, recorder: StreamRecorder, **given: Any) -> Run:
    """One run over HTTP, checked."""
    body: Json = {
        "threadId": "t",
        "runId": "r",
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
        "protocolVersion": "1.0",
        **given,
    }
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://url") as client:
        answer = await client.post("/", json=body)
    events = read_sse(answer.content)
    recorder.record("readme", body, events, raw=answer.content)
    return Run([dict(event) for event in events])


HELLO = {"id": "u1", "role": "user", "content": "hello"}


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentSpec]:
    """The agent of "Add your own agent", in a folder of its own beside the package's."""
    module, row = snippets("Add your own agent", "python")
    (tmp_path / "greeter").mkdir()
    (tmp_path / "greeter" / "graph.py").write_text(module, "utf-8")
    monkeypatch.setattr(graphs, "__path__", [*graphs.__path__, str(tmp_path)])
    spec: AgentSpec = eval(row.strip().removesuffix(","), {"AgentSpec": AgentSpec})
    yield spec
    for name in [name for name in sys.modules if name.startswith("graphs.greeter")]:
        del sys.modules[name]


async def test_an_agent_of_ones_own(greeter: AgentSpec, stream_recorder: StreamRecorder) -> None:
    """The graph says what its model says."""
    talk = AgentThread(stream_recorder, greeter.build(Deps(ScriptedModel(turns=["Hello to you."]))), state_keys=greeter.state_keys)
    assert (await talk.say("hi")).text == "Hello to you."


async def test_its_row_in_the_catalog(greeter: AgentSpec, stream_recorder: StreamRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the catalog has the row, the agent is served."""
    monkeypatch.setattr(agents, "AGENTS", MappingProxyType({**AGENTS, greeter.name: greeter}))
    app = create_app("greeter", Settings(auth="none", offline_delay_ms=0), checkpointer=InMemorySaver())
    run = await post(app, stream_recorder, messages=[HELLO])
    assert (run.outcome, bool(run.text)) == ("success", True)


@pytest.fixture
def pizza(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of "Serve your own graph"; `.stream` is the path of the program below it."""
    module, program = snippets("Serve your own graph", "python")
    (tmp_path / "pizza.py").write_text(module, "utf-8")
    (tmp_path / "stream.py").write_text(program, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("pizza")
    del sys.modules["pizza"]


async def test_a_graph_of_ones_own(pizza: Any, stream_recorder: StreamRecorder) -> None:
    """It asks; the answer that the README shows finishes it."""
    asked = await post(pizza.app, stream_recorder, messages=[HELLO])
    (question,) = asked.interrupts
    assert (question["reason"], question["message"]) == ("select", "Which size?")
    (answer,) = re.findall(r"`resume: \[(\{interruptId.*?\}\})\]`", README)
    status, value = re.findall(r'status: "(\w+)", payload: \{value: "(\w+)"\}', answer)[0]
    entry = {"interruptId": question["id"], "status": status, "payload": {"value": value}}
    done = await post(pizza.app, stream_recorder, runId="r2", messages=asked.snapshot, resume=[entry])
    assert (done.outcome, done.text) == ("success", "One large pizza.")


def test_the_stream_alone(pizza: Any) -> None:
    """The program prints an event a line, up to the question."""
    done = subprocess.run(
        [sys.executable, str(Path(pizza.__file__).parent / "stream.py")],
        capture_output=True, text=True, timeout=60, check=True, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["type"] for event in events][:2] == ["RUN_STARTED", "STEP_STARTED"]
    assert events[-1]["outcome"]["interrupts"][0]["message"] == "Which size?"
