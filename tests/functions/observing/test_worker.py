"""What would reach CloudWatch: the output of a real worker process, as it is when the runtime asks for the next event."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from functions.observing import names
from functions.observing.request import user_hash
from functions.settings import LOCAL_USER
from infra.local.invocation import FunctionError, TruncatedResponse
from tests.support.emf import Point, total
from tests.support.runtime import collect
from tests.support.worker import Worker, Written, worker

pytestmark = pytest.mark.long

AGENT = "reactAgent"
SECRET = "wombat-7731"
"""In a prompt: at INFO no line may show it."""
IDS = {"agent", "function_request_id", "trace_id", "thread_id", "run_id", "user"}


@pytest.fixture(scope="module")
async def running(moto_endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worker]:
    """One environment for all that need no other, as on Lambda. Its model takes more than ten seconds to count to 5,000."""
    async with worker(AGENT, moto_endpoint, tmp_path_factory.mktemp("worker"), AGENTS_OFFLINE_DELAY_MS="2") as started:
        yield started


def values(points: list[Point], **dimensions: str) -> dict[str, float]:
    """The metrics under exactly these dimensions, by name."""
    wanted = tuple(sorted(dimensions.items()))
    return {point.name: point.value for point in points if point.dimensions == wanted}


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked, and what its metrics must be."""

    text: str | None
    outcome: str
    code: str | None = None
    counts: Mapping[str, float] = field(default_factory=dict)
    timeout_ms: int = 900_000
    first_token: bool = True
    tokens: bool = True


NOTHING = {"ToolCalls": 0, "ToolErrors": 0, "Interrupts": 0}
CASES = {
    "success": Case(f"what is the leave policy of {SECRET}?", names.SUCCESS, None, NOTHING | {"ToolCalls": 1}),
    "interrupt": Case(f"ask two {SECRET}", names.INTERRUPT, None, {"ToolCalls": 2, "ToolErrors": 0, "Interrupts": 2}),
    "error": Case(f"fail now {SECRET}", names.ERROR, "AGENT_INTERNAL", NOTHING, tokens=False),
    "deadline": Case(f"count to 5000 for {SECRET}", names.ERROR, "RUN_DEADLINE", NOTHING, timeout_ms=6_000, tokens=False),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_run_is_one_set_of_metrics_and_two_lines(running: Worker, name: str) -> None:
    """Written before `next`: how it ended, how long it took, what it used, each under its own dimensions; with the ids on every line, the
    caller's hash for the caller, and nothing of what was asked."""
    case = CASES[name]
    events, written = await running.run(case.text, thread=f"thread {name}", run=f"run {name}", timeout_ms=case.timeout_ms)
    of_run = values(written.points, agent=AGENT)
    assert {metric: of_run[metric] for metric in case.counts} == case.counts
    assert 0 < of_run["TimeToFirstEvent"] <= of_run.get("TimeToFirstToken", of_run["RunDuration"]) <= of_run["RunDuration"]
    assert ("TimeToFirstToken" in of_run) is case.first_token
    assert of_run["CheckpointCalls"] >= 4
    assert of_run["CheckpointBytesWritten"] > 1_000
    assert values(written.points, agent=AGENT, outcome=case.outcome) == {"Runs": 1}
    assert values(written.points, agent=AGENT, outcome=case.outcome, code=case.code or "") == ({"Runs": 1} if case.code else {})
    tokens = values(written.points, agent=AGENT, model="offline")
    assert set(tokens) == ({"InputTokens", "OutputTokens"} if case.tokens else set())
    assert all(tokens.values())

    ended = written.line("run ended")
    assert (ended["outcome"], ended.get("code")) == (case.outcome, case.code)
    assert {key: ended[key] for key in ("agent", "thread_id", "run_id", "user")} == {
        "agent": AGENT,
        "thread_id": f"thread {name}",
        "run_id": f"run {name}",
        "user": user_hash(LOCAL_USER),
    }
    assert [set(line) & IDS for line in written.lines] == [IDS] * len(written.lines)
    assert written.line("run started")["trace_id"] == ended["trace_id"] == events[0]["metadata"]["traceId"]
    assert SECRET not in written.stdout + written.stderr


async def test_the_lines_of_metrics_find_the_run(running: Worker) -> None:
    """The ids are fields of each line and dimensions of none, so that they can be searched for and cost nothing."""
    _, written = await running.run("count to 3", thread="to find", run="to find")
    ids = {(line["run_id"], line["thread_id"], line["trace_id"]) for line in written.embedded}
    assert ids == {("to find", "to find", written.line("run ended")["trace_id"])}
    assert {name for point in written.points for name, _ in point.dimensions} == {"agent", "outcome", "model"}


async def test_levels_are_what_lambda_reads(moto_endpoint: str, tmp_path: Path) -> None:
    """Lambda filters by `level`, and takes a line without a time stamp of RFC 3339 for INFO. Its own variable is the default level."""
    async with worker(AGENT, moto_endpoint, tmp_path, AWS_LAMBDA_LOG_LEVEL="ERROR") as running:
        _, written = await running.run("fail now")
    (line,) = written.lines
    assert line["level"] == "ERROR"
    assert line["timestamp"].endswith("+00:00")
    assert line["timestamp"][10] == "T"
    assert total(written.points, "Runs", agent=AGENT, outcome="error") == 1, "metrics have no level"
    assert total(written.points, "ColdStarts", agent=AGENT) == 1


async def test_debug_shows_what_was_asked(moto_endpoint: str, tmp_path: Path) -> None:
    """At DEBUG alone: the messages, and the arguments of each tool as one line."""
    async with worker(AGENT, moto_endpoint, tmp_path, AGENTS_LOG_LEVEL="DEBUG") as running:
        _, written = await running.run(f"search {SECRET}")
    assert written.line("run asked")["messages"][0]["content"] == f"search {SECRET}"
    assert SECRET in written.line("tool called")["arguments"]
    assert values(written.points, agent=AGENT)["TimeToFirstToken"] > 0


async def test_two_in_a_row_share_nothing(running: Worker) -> None:
    """The second run has its own ids and counts, and is no cold start; a request between them has no run's ids."""
    _, first = await running.run("ask two", thread="thread-1", run="run-1")
    _, between = await running.get("/", "POST", "no JSON")
    _, second = await running.run("count to 3", thread="thread-2", run="run-2")
    for written, run in ((first, "run-1"), (second, "run-2")):
        assert {line["run_id"] for line in written.lines} == {line["run_id"] for line in written.embedded} == {run}
        assert {line["function_request_id"] for line in written.lines} == {written.lines[0]["function_request_id"]}
    assert first.lines[0]["function_request_id"] != second.lines[0]["function_request_id"]
    assert [{"thread_id", "run_id", "user"} & set(line) for line in between.lines] == [set()]
    assert values(second.points, agent=AGENT)["ColdStarts"] == 0
    assert values(second.points, agent=AGENT)["Interrupts"] == 0
    calls = [values(w.points, agent=AGENT)["CheckpointCalls"] for w in (first, second)]
    assert all(4 <= count < 40 for count in calls)


async def test_a_refused_request_is_a_line_and_no_run(running: Worker) -> None:
    """A 4xx says its status and code under the request's ids; it counts as no run."""
    reply, written = await running.get("/", "POST", "no JSON")
    assert reply.prelude.status == 400
    assert written.points == []
    (line,) = written.lines
    assert (line["message"], line["level"]) == ("request refused: 400 BAD_INPUT", "INFO")
    assert set(line) >= {"agent", "function_request_id", "trace_id"}
    assert "run_id" not in line


async def test_a_run_that_cannot_begin_is_one_that_failed(moto_endpoint: str, tmp_path: Path) -> None:
    """An agent whose key cannot be read ends in RUN_ERROR, and in the metrics, without a token or a checkpoint."""
    async with worker(AGENT, moto_endpoint, tmp_path, AGENTS_SECRETS='{"OPENAI_API_KEY": "nowhere"}') as running:
        _, written = await running.run("hi")
    assert total(written.points, "Runs", agent=AGENT, outcome="error", code="SECRET_UNAVAILABLE") == 1
    assert "TimeToFirstToken" not in values(written.points, agent=AGENT)
    assert "CheckpointCalls" not in values(written.points, agent=AGENT)


async def test_a_wrong_answer_is_rejected_and_no_error(running: Worker) -> None:
    """What the client did wrong must not ring the operator."""
    events, _ = await running.run("confirm", thread="asks", run="asks")
    question = events[-1]["outcome"]["interrupts"][0]["id"]
    resume = [{"interruptId": question, "status": "resolved", "payload": {"no": "answer"}}]
    _, written = await running.run(None, thread="asks", run="answers", resume=resume)
    assert total(written.points, "Runs", agent=AGENT, outcome="rejected", code="INVALID_RESUME") == 1


async def test_a_client_that_left_changes_nothing(running: Worker) -> None:
    """The run goes on and its metrics say so: Lambda does not tell, and the bill is the same."""
    invocation = running.start("count to 400", thread="left", run="left")
    running.api.resets_after = 3
    with contextlib.suppress(TruncatedResponse, FunctionError):
        await collect(invocation)
    written = await running.settled()
    assert total(written.points, "Runs", agent=AGENT, outcome="success") == 1
    assert total(written.points, "OutputTokens", agent=AGENT, model="offline") > 300
    assert any("client went away" in str(line["message"]) and line["run_id"] == "left" for line in written.lines)


async def test_what_a_tool_prints_is_out_too(moto_endpoint: str, tmp_path: Path) -> None:
    """stdout is a pipe: without line buffering a `print` would be read with the next run, or never."""
    (tmp_path / "printing_app.py").write_text(
        "async def app(scope, receive, send):\n"
        "    if scope['type'] == 'http':\n"
        "        print('said on the way')\n"
        "        await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
        "        await send({'type': 'http.response.body', 'body': b'ok'})\n",
        encoding="utf-8",
    )
    async with worker(AGENT, moto_endpoint, tmp_path, _HANDLER="printing_app.app", PYTHONPATH=str(tmp_path)) as running:
        _, written = await running.get("/")
    assert written.stdout == "said on the way\n"


def test_a_written_output_is_read_strictly() -> None:
    """A line that is no JSON is a failure of the test that reads it."""
    with pytest.raises(ValueError, match="no JSON"):
        _ = Written("", "Traceback (most recent call last):\n").lines
