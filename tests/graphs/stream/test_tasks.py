"""`tasks` and namespaces: steps, and nested graphs as sub-agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from graphs.stream import AguiTransformer
from tests.support.protocol import Event, custom, delta, end, project, start, task, tool, values
from tests.support.streams import StreamRecorder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
S1, F1 = "STEP_STARTED stepName=n", "STEP_FINISHED stepName=n"


def done(task_id: str, name: str = "n", ns: Sequence[str] = (), **data: Any) -> Event:
    return task(task_id, name, ns, result={}, **data)


ROWS: dict[str, tuple[Sequence[Event], Sequence[str]]] = {
    "a node is a step": ([task("1", "n"), done("1")], [S1, F1]),
    "a node that runs again is a step again": ([task("1", "n"), done("1"), task("2", "n"), done("2")], [S1, F1, S1, F1]),
    "tasks of one node that run at once are one step": ([task("1", "n"), task("2", "n"), done("1"), done("2")], [S1, F1]),
    "tasks of two nodes are two": (
        [task("1", "n"), task("2", "o"), done("1"), done("2", "o")],
        [S1, "STEP_STARTED stepName=o", F1, "STEP_FINISHED stepName=o"],
    ),
    "a task that never started cannot end": ([done("1")], []),
    "the end of the super-step ends what LangGraph does not": ([task("1", "n"), values()], [S1, F1]),
    "a step of a nested graph has the names of its path": (
        [task("1", "n"), task("2", "m", ["n:1"]), done("2", "m", ["n:1"]), done("1")],
        [
            S1,
            "SUBAGENT_STARTED subagentRunId=n:1 name=n",
            "STEP_STARTED subagentRunId=n:1 stepName=n/m",
            "STEP_FINISHED subagentRunId=n:1 stepName=n/m",
            "SUBAGENT_FINISHED subagentRunId=n:1",
            F1,
        ],
    ),
    "a nested graph with a name of its own": (
        [task("2", "m", ["n:1"], metadata={"lc_agent_name": "expert"}), done("1")],
        [
            "SUBAGENT_STARTED subagentRunId=n:1 name=expert",
            "STEP_STARTED subagentRunId=n:1 stepName=n/m",
            "STEP_FINISHED subagentRunId=n:1 stepName=n/m",
            "SUBAGENT_FINISHED subagentRunId=n:1",
        ],
    ),
    "a nested graph two levels down announces both": (
        [start(ns=["n:1", "m:2"]), delta(0, "text", "a", ns=["n:1", "m:2"]), end(ns=["n:1", "m:2"]), done("1")],
        [
            "SUBAGENT_STARTED subagentRunId=n:1 name=n",
            "SUBAGENT_STARTED subagentRunId=n:1|m:2 name=m parentSubagentRunId=n:1",
            "TEXT_MESSAGE_START subagentRunId=n:1|m:2 messageId=m1 role=assistant",
            "TEXT_MESSAGE_CONTENT subagentRunId=n:1|m:2 messageId=m1 delta=a",
            "TEXT_MESSAGE_END subagentRunId=n:1|m:2 messageId=m1",
            "SUBAGENT_FINISHED subagentRunId=n:1|m:2",
            "SUBAGENT_FINISHED subagentRunId=n:1",
        ],
    ),
    "a node that runs two graphs has two sub-agents side by side": (
        [custom(1, ["n:1"]), custom(2, ["n:1", "1"]), task("3", "m", ["n:1", "1"]), done("1")],
        [
            "SUBAGENT_STARTED subagentRunId=n:1 name=n",
            "CUSTOM subagentRunId=n:1 name=custom value=1",
            "SUBAGENT_STARTED subagentRunId=n:1|1 name=n",
            "CUSTOM subagentRunId=n:1|1 name=custom value=2",
            "STEP_STARTED subagentRunId=n:1|1 stepName=n/m",
            "SUBAGENT_FINISHED subagentRunId=n:1",
            "STEP_FINISHED subagentRunId=n:1|1 stepName=n/m",
            "SUBAGENT_FINISHED subagentRunId=n:1|1",
        ],
    ),
    "agents of one name that run at once": (
        [task("2", "m", ["n:1"]), task("3", "m", ["n:9"]), done("2", "m", ["n:1"]), done("3", "m", ["n:9"]), done("1"), done("9")],
        [
            "SUBAGENT_STARTED subagentRunId=n:1 name=n",
            "STEP_STARTED subagentRunId=n:1 stepName=n/m",
            "SUBAGENT_STARTED subagentRunId=n:9 name=n",
            "STEP_FINISHED subagentRunId=n:1 stepName=n/m",
            "SUBAGENT_FINISHED subagentRunId=n:1",
            "SUBAGENT_FINISHED subagentRunId=n:9",
        ],
    ),
    "an agent run by a tool names the call": (
        [
            tool("started", tool_name="f", input={}),
            task("1", "tools", input={"__type": "tool_call_with_context", "tool_call": {"id": "c1"}}),
            custom(1, ["tools:1"]),
            done("1", "tools"),
            tool("finished", output="ok"),
        ],
        [
            "TOOL_CALL_START toolCallId=c1 toolCallName=f",
            "TOOL_CALL_ARGS toolCallId=c1 delta={}",
            "STEP_STARTED stepName=tools",
            "SUBAGENT_STARTED subagentRunId=tools:1 name=tools parentToolCallId=c1",
            "CUSTOM subagentRunId=tools:1 name=custom value=1",
            "SUBAGENT_FINISHED subagentRunId=tools:1",
            "STEP_FINISHED stepName=tools",
            "TOOL_CALL_END toolCallId=c1",
        ],
    ),
    "a nested graph that failed": (
        [custom(1, ["n:1"]), done("1", error="host db-7 is down")],
        [
            "SUBAGENT_STARTED subagentRunId=n:1 name=n",
            "CUSTOM subagentRunId=n:1 name=custom value=1",
            "SUBAGENT_ERROR subagentRunId=n:1 message=The sub-agent failed.",
        ],
    ),
    "an interrupt belongs to the innermost": (
        [custom(1, ["n:1", "m:2"]), done("2", "m", ["n:1"], interrupts=[{"id": "i"}]), done("1", interrupts=[{"id": "i"}])],
        [
            "SUBAGENT_STARTED subagentRunId=n:1 name=n",
            "SUBAGENT_STARTED subagentRunId=n:1|m:2 name=m parentSubagentRunId=n:1",
            "CUSTOM subagentRunId=n:1|m:2 name=custom value=1",
            "SUBAGENT_FINISHED subagentRunId=n:1|m:2 outcome={'type': 'suspended', 'interruptIds': ['i']}",
            "SUBAGENT_FINISHED subagentRunId=n:1 outcome={'type': 'suspended', 'interruptIds': []}",
        ],
    ),
}


@pytest.mark.parametrize("row", ROWS)
async def test_tasks(row: str, stream_recorder: StreamRecorder) -> None:
    """Each row is what the name says, and a legal stream."""
    events, expected = ROWS[row]
    projected = await project(events)
    lines = projected.lines
    if "names the call" in row:
        lines = lines[:-1]  # the result, under an id of its own
    assert lines == list(expected)
    stream_recorder.record(row, INPUT, projected.stream)


async def test_a_run_inside_a_node_reads_from_its_own_level() -> None:
    """A transformer of scope `n:1` takes that namespace as its root, and nothing beside it."""
    at = ["n:1"]
    events = [start(ns=at), delta(0, "text", "a", ns=at), custom(1, ["other:2"]), custom(2), custom(3, [*at, "m:3"])]
    projected = await project(events, AguiTransformer(("n:1",)))
    assert projected.lines == [
        "TEXT_MESSAGE_START messageId=m1 role=assistant",
        "TEXT_MESSAGE_CONTENT messageId=m1 delta=a",
        "SUBAGENT_STARTED subagentRunId=m:3 name=m",
        "CUSTOM subagentRunId=m:3 name=custom value=3",
    ]


async def test_a_method_of_its_own_passes() -> None:
    """What is not one of our channels is left alone."""
    assert (await project([{"type": "event", "method": "updates", "params": {"namespace": [], "timestamp": 1, "data": {}}}])).lines == []
