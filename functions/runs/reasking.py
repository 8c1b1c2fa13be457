"""Open questions of a graph whose code was changed since: asked again before they are answered.

An interrupt's id is its place (task and position), not its question, so a changed node would hear the old question's answer. Its node runs
again from the top, as it would with the answer, and hears one earlier answer after the other, each only if its question is still the
same. What it asks then is what the thread waits for. Silently: the run that follows shows it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import NS_END, NS_SEP, RESUME
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot, _interrupt_id

from functions.runs.answers import question_digest
from functions.runs.lease import Lease
from functions.runs.thread import Thread, read_thread
from functions.store.claims import Claim

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Answered:
    """A task that waits, and heard answers before: `config` is its graph's checkpoint."""

    config: RunnableConfig
    task_id: str
    interrupt_ids: list[str]


async def asked_again(
    graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, thread: Thread, lease: Lease, context: Any = None
) -> Thread:
    """The thread as it stands when its waiting nodes were asked. `changed` has the questions that are others now.

    Raises what a node raises: then nothing is answered.
    """
    saver = graph.checkpointer
    if not thread.interrupts or not isinstance(saver, BaseCheckpointSaver):
        return thread
    answered = [task async for task in _answered(saver, await graph.aget_state(config, subgraphs=True))]
    earlier = await _withdrawn(saver, answered, lease)
    now, heard = await _replayed(graph, config, earlier, context)
    await lease.claim(heard)
    asked = {interrupt.id: question_digest(interrupt) for interrupt in thread.interrupts}
    changed = frozenset(i.id for i in now.interrupts if i.id in asked and question_digest(i) != asked[i.id])
    if changed or {i.id for i in now.interrupts} != asked.keys():
        log.warning("the code was changed while questions were open, and asks others now: they are shown, nothing is answered")
    return replace(now, changed=changed)


async def _withdrawn(saver: BaseCheckpointSaver[Any], answered: list[_Answered], lease: Lease) -> dict[str, Claim]:
    """What the tasks have heard, by interrupt; from now on they have heard nothing. The claims go first: dying in between costs a question
    that is asked again, never an answer to a question that it was not given to."""
    ids = [interrupt_id for task in answered for interrupt_id in task.interrupt_ids]
    earlier = dict(await lease.answers(ids) or {}) if ids else {}
    await lease.forget(list(earlier))
    for task in answered:
        await saver.aput_writes(task.config, [(RESUME, [])], task.task_id)
    return earlier


async def _replayed(
    graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, earlier: dict[str, Claim], context: Any
) -> tuple[Thread, dict[str, Claim]]:
    """Runs what waits, at most to the end of its step, and again for each earlier answer whose question is the same: those are heard."""
    given: Command[Any] | None = None
    heard: dict[str, Claim] = {}
    while True:
        await graph.ainvoke(given, config, interrupt_after="*", durability="sync", context=context)
        thread = await read_thread(graph, config)
        same = {i.id: earlier.pop(i.id) for i in thread.interrupts if i.id in earlier and earlier[i.id].question == question_digest(i)}
        if not same:
            return thread, heard
        heard |= same
        given = Command(resume={interrupt_id: claim.value for interrupt_id, claim in same.items()})


async def _answered(saver: BaseCheckpointSaver[Any], snapshot: StateSnapshot) -> AsyncIterator[_Answered]:
    stored = await saver.aget_tuple(snapshot.config)
    writes = (stored.pending_writes or ()) if stored is not None else ()
    given = {task_id: value for task_id, channel, value in writes if channel == RESUME and isinstance(value, list) and value}
    own = snapshot.config["configurable"].get("checkpoint_ns") or ""
    for task in snapshot.tasks:
        if isinstance(task.state, StateSnapshot):
            async for nested in _answered(saver, task.state):
                yield nested
        elif task.interrupts and task.id in given:
            namespace = f"{own}{NS_SEP if own else ''}{task.name}{NS_END}{task.id}"
            ids = [_interrupt_id(namespace, position) for position in range(len(given[task.id]))]
            yield _Answered(snapshot.config, task.id, ids)
