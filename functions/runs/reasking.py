"""Open questions of a graph whose code was changed since: asked again before they are answered.

An interrupt's id is its place (task and position), not its question, so a changed node would hear the old question's answer. Its node runs
again from the top, as it would with the answer, and hears one earlier answer after the other, each only if its question is still the
same. What it asks then is what the thread waits for. Silently: the run that follows shows it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import RESUME
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import Command

from functions.runs.answers import question_digests
from functions.runs.lease import Lease
from functions.runs.thread import Asking, Thread, asking_tasks, read_thread
from functions.store.claims import Claim

log = logging.getLogger(__name__)


async def asked_again(
    graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, thread: Thread, lease: Lease, context: Any = None
) -> Thread:
    """The thread as it stands when its waiting nodes were asked. `changed` has the questions that are others now.

    Raises what a node raises: then nothing is answered.
    """
    saver = graph.checkpointer
    if not thread.interrupts or not isinstance(saver, BaseCheckpointSaver):
        return thread
    earlier = await _withdrawn(saver, [one for one in await asking_tasks(graph, config) if one.heard], lease)
    now, heard = await _replayed(graph, config, earlier, context)
    await lease.claim(heard)
    before, after = question_digests(thread.interrupts), question_digests(now.interrupts)
    if before != after:
        log.warning("the code was changed while questions were open, and asks others now: they are shown, nothing is answered")
    return replace(now, changed=frozenset(i for i in before.keys() & after.keys() if before[i] != after[i]))


async def _withdrawn(saver: BaseCheckpointSaver[Any], answered: list[Asking], lease: Lease) -> dict[str, Claim]:
    """What the tasks have heard, by interrupt; from now on they have heard nothing. The claims go first: dying in between costs a question
    that is asked again, never an answer to a question that it was not given to."""
    ids = [one.interrupt_id(position) for one in answered for position in range(len(one.heard))]
    earlier = dict(await lease.answers(ids) or {}) if ids else {}
    await lease.forget(list(earlier))
    for one in answered:
        await saver.aput_writes(one.config, [(RESUME, [])], one.task.id)
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
        asked = question_digests(thread.interrupts)
        same = {i: earlier.pop(i) for i, question in asked.items() if i in earlier and earlier[i].question == question}
        if not same:
            return thread, heard
        heard |= same
        given = Command(resume={interrupt_id: claim.value for interrupt_id, claim in same.items()})
