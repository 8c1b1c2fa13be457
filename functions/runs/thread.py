"""A thread as its checkpoint has it: the history, the open interrupts, the work that is not finished."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import NS_END, NS_SEP, RESUME
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import Interrupt, PregelTask, StateSnapshot, _interrupt_id

from graphs.stream import public_state as shown_state

RUN_ID_KEY = "agui_run_id"
"""Checkpoint metadata: the AG-UI run that wrote it, so that a repeated runId is known as a retry."""
ANSWER_KEY = "agui_answer:"
"""Checkpoint metadata, with an interrupt's id behind it: the digest of the answer that the run was started with."""
REMEMBERED_CHECKPOINTS = 200
"""How far back answers are looked for."""


@dataclass(frozen=True, slots=True)
class Thread:
    """What the last checkpoint of a thread says. An unknown thread is empty."""

    values: Mapping[str, Any] = field(default_factory=dict)
    interrupts: tuple[Interrupt, ...] = ()
    unfinished: bool = False
    failed: bool = False
    """Unfinished, because a step raised: nothing is running."""
    answered: Mapping[str, Any] = field(default_factory=dict)
    """Interrupt id → answer, of questions whose node failed after it was answered. They are not open."""
    changed: frozenset[str] = frozenset()
    """Open interrupts that ask something else than when they were shown: the code was changed in between."""
    run_id: str | None = None
    exists: bool = False
    config: RunnableConfig = field(default_factory=RunnableConfig)
    """Of this very checkpoint: forks from it, and reads it without the writes that wait for the next one."""

    @property
    def messages(self) -> list[BaseMessage]:
        found = self.values.get("messages")
        return [m for m in found if isinstance(m, BaseMessage)] if isinstance(found, (list, tuple)) else []


async def read_thread(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig) -> Thread:
    """One consistent read of the newest checkpoint; a graph without a checkpointer has no threads."""
    if not has_checkpointer(graph):
        return Thread()
    snapshot = await graph.aget_state(config)
    return _thread(snapshot, await _answered(graph, config, snapshot))


async def earlier_states(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig) -> AsyncIterator[Thread]:
    """The thread's checkpoints, newest first."""
    async for snapshot in graph.aget_state_history(config):
        yield _thread(snapshot)


async def given_answers(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, interrupt_ids: Iterable[str]) -> dict[str, str]:
    """Interrupt id → digest, of those that the thread's newest checkpoints say were answered."""
    wanted = {ANSWER_KEY + interrupt_id: interrupt_id for interrupt_id in interrupt_ids}
    found: dict[str, str] = {}
    if not wanted:
        return found
    async for snapshot in graph.aget_state_history(config, limit=REMEMBERED_CHECKPOINTS):
        metadata: Mapping[str, Any] = snapshot.metadata or {}
        found |= {wanted[key]: str(metadata[key]) for key in wanted if key in metadata and wanted[key] not in found}
        if len(found) == len(wanted):
            break
    return found


def public_keys(graph: Pregel[Any, Any, Any, Any], state_keys: Sequence[str] | None) -> Sequence[str]:
    """The keys that a client sees: the named ones, or every output key of the graph."""
    if state_keys is not None:
        return state_keys
    output = graph.output_channels
    return [] if isinstance(output, str) else [key for key in output if not key.startswith("__")]


def public_state(thread: Thread, keys: Sequence[str]) -> dict[str, Any]:
    """What STATE_SNAPSHOT shows: those keys that have a value, JSON-safe, without the messages."""
    return shown_state(thread.values, keys)


def has_checkpointer(graph: Pregel[Any, Any, Any, Any]) -> bool:
    return bool(graph.checkpointer)


@dataclass(frozen=True, slots=True)
class Asking:
    """A task that waits for an answer. `config` is its own graph's checkpoint; `heard`: what it was answered so far."""

    config: RunnableConfig
    task: PregelTask
    heard: Sequence[Any]

    def interrupt_id(self, position: int) -> str:
        """Of its question at that place: an interrupt's id says which of the task's answers it waits for."""
        own = self.config["configurable"].get("checkpoint_ns") or ""
        return _interrupt_id(f"{own}{NS_SEP if own else ''}{self.task.name}{NS_END}{self.task.id}", position)


async def asking_tasks(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig) -> list[Asking]:
    """All of them, in nested graphs too: their own checkpoints have the answers then."""
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return []
    return [one async for one in _asking_in(saver, await graph.aget_state(config, subgraphs=True))]


async def _asking_in(saver: BaseCheckpointSaver[Any], snapshot: StateSnapshot) -> AsyncIterator[Asking]:
    stored = await saver.aget_tuple(snapshot.config)
    writes = (stored.pending_writes or ()) if stored is not None else ()
    heard = {task_id: value for task_id, channel, value in writes if channel == RESUME and isinstance(value, list)}
    for task in snapshot.tasks:
        if isinstance(task.state, StateSnapshot):
            async for nested in _asking_in(saver, task.state):
                yield nested
        elif task.interrupts:
            yield Asking(snapshot.config, task, heard.get(task.id, ()))


async def _answered(graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, snapshot: StateSnapshot) -> dict[str, Any]:
    """LangGraph shows such a question as open, and would take the next answer to it for the node's next question."""
    if not any(task.error is not None and task.interrupts for task in snapshot.tasks):
        return {}
    failed = [one for one in await asking_tasks(graph, config) if one.task.error is not None and one.heard]
    last = ((one.task.interrupts[-1].id, one) for one in failed)
    return {interrupt_id: one.heard[-1] for interrupt_id, one in last if interrupt_id == one.interrupt_id(len(one.heard) - 1)}


def _thread(snapshot: StateSnapshot, answered: Mapping[str, Any] = MappingProxyType({})) -> Thread:
    values = snapshot.values if isinstance(snapshot.values, Mapping) else {}
    run_id = (snapshot.metadata or {}).get(RUN_ID_KEY)
    unique = {i.id: i for i in snapshot.interrupts if i.id not in answered}
    # a task whose writes are stored, in a step whose checkpoint is not, is no longer in `next`
    unfinished = bool(snapshot.next or snapshot.tasks) and not unique
    return Thread(
        values=values,
        interrupts=tuple(unique.values()),
        unfinished=unfinished,
        failed=unfinished and any(task.error is not None for task in snapshot.tasks),
        answered=answered,
        run_id=str(run_id) if run_id is not None else None,
        exists=snapshot.created_at is not None,
        config=snapshot.config,
    )
