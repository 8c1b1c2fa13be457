"""The `tasks` channel → STEP_* for nodes, SUBAGENT_* for nested graphs.

A namespace is a path of `name:task id` segments from the run's own graph to a nested one. A nested graph is a sub-agent of AG-UI: its
`subagentRunId` is that path, so it stays the same when the run is resumed, and every event from inside carries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import BaseEvent, StepFinishedEvent, StepStartedEvent, SubagentErrorEvent, SubagentFinishedEvent, SubagentStartedEvent

from graphs.stream.ledger import CallLedger

Events = Iterator[BaseEvent]
Path = tuple[str, ...]

SUBAGENT_FAILED = "The sub-agent failed."


class TaskMapper:
    """One per run. Counts the tasks of a node that run at once: one STEP for all of them."""

    def __init__(self, ledger: CallLedger) -> None:
        self._ledger = ledger
        self._running: dict[str, tuple[Path, str]] = {}
        self._owners: dict[str, Path] = {}
        self._calls: dict[str, str] = {}
        self._suspended: set[str] = set()

    def owner(self, path: Path) -> str | None:
        """The `subagentRunId` of what a nested graph emits; None at the run's own level."""
        return "|".join(path) or None

    def enter(self, path: Path, data: Any = None) -> Events:
        """SUBAGENT_STARTED for every nested graph on the path that was not announced yet, outermost first."""
        if not path or self.owner(path) in self._owners:
            return
        path = graphs_of(path)
        for depth in range(1, len(path) + 1):
            part = path[:depth]
            run_id = "|".join(part)
            if run_id not in self._owners:
                self._owners[run_id] = part
                yield SubagentStartedEvent(
                    subagent_run_id=run_id,
                    name=(_agent_name(data) if depth == len(path) else None) or part[-1].partition(":")[0],
                    parent_subagent_run_id=self.owner(part[:-1]),
                    parent_tool_call_id=self._parent_call(part[-1], self.owner(part[:-1])),
                )

    def _parent_call(self, segment: str, caller: str | None) -> str | None:
        raw = self._calls.get(_task_id(segment))
        return None if raw is None else self._ledger.current(raw, caller) or raw

    def map(self, data: Mapping[str, Any], path: Path) -> Events:
        """A task's start (it has `input`) or its end (it has `result`)."""
        if "result" in data:
            yield from self._leave(data, path)
            yield from self._finished(data["id"])
            return
        self._remember_call(data)
        step = (path, data["name"])
        if step not in self._running.values():
            yield StepStartedEvent(step_name=step_name(*step), subagent_run_id=self.owner(path))
        self._running[data["id"]] = step

    def step_ended(self, path: Path) -> Events:
        """A `values` event: the super-step is over. On a resume LangGraph starts finished tasks again and never ends them."""
        for task_id in [t for t, (where, _) in self._running.items() if where == path]:
            yield from self._finished(task_id)

    def _finished(self, task_id: str) -> Events:
        step = self._running.pop(task_id, None)
        if step is not None and step not in self._running.values():
            yield StepFinishedEvent(step_name=step_name(*step), subagent_run_id=self.owner(step[0]))

    def _leave(self, data: Mapping[str, Any], path: Path) -> Events:
        """The nested graphs that this task ran end with it, innermost first."""
        depth = len(graphs_of(path))
        ended = [r for r, part in self._owners.items() if len(part) > depth and _task_id(part[depth]) == data["id"]]
        for run_id in sorted(ended, key=lambda r: -len(self._owners[r])):
            del self._owners[run_id]
            yield self._ending(run_id, data)

    def _ending(self, run_id: str, data: Mapping[str, Any]) -> BaseEvent:
        if data.get("error"):
            return SubagentErrorEvent(subagent_run_id=run_id, message=SUBAGENT_FAILED)
        interrupts = data.get("interrupts") or ()
        if not interrupts:
            return SubagentFinishedEvent(subagent_run_id=run_id)
        ids = [i["id"] if isinstance(i, Mapping) else i.id for i in interrupts]
        own = [i for i in ids if i not in self._suspended]  # the innermost raised it; the ones around it only wait
        self._suspended.update(own)
        return SubagentFinishedEvent.model_validate({"subagentRunId": run_id, "outcome": {"type": "suspended", "interruptIds": own}})

    def _remember_call(self, data: Mapping[str, Any]) -> None:
        if call_id := _only_call(data.get("input")):
            self._calls[data["id"]] = call_id


def step_name(path: Sequence[str], node: str) -> str:
    """`<namespace>/<node>` with the names alone; at the run's own level just the node."""
    return "/".join([segment.partition(":")[0] for segment in graphs_of(path)] + [node])


def graphs_of(path: Sequence[str]) -> Path:
    """The path with one segment a graph: where a task runs several, LangGraph counts them in a segment of its own (`tools:id`, `1`)."""
    graphs: list[str] = []
    for segment in path:
        if graphs and segment.isdecimal():
            graphs[-1] += f"|{segment}"
        else:
            graphs.append(segment)
    return tuple(graphs)


def _only_call(task_input: Any) -> str | None:
    """The tool call that a task was sent with `Send`: as a list of one (`create_agent`, `route_tools`), or wrapped with the state."""
    if isinstance(task_input, Mapping) and task_input.get("__type") == "tool_call_with_context":
        task_input = [{**task_input["tool_call"], "type": "tool_call"}]
    if not isinstance(task_input, list) or len(task_input) != 1 or not isinstance(task_input[0], Mapping):
        return None
    return str(task_input[0].get("id") or "") if task_input[0].get("type") == "tool_call" else None


def _task_id(segment: str) -> str:
    return segment.partition(":")[2].partition("|")[0]


def _agent_name(data: Any) -> str | None:
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    name = metadata.get("lc_agent_name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) and name else None
