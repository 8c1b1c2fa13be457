"""What one function serves: an agent, its threads and who may see them. Built once per environment, handed to every route."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel

from functions.parts import make_deps
from functions.runs.agents import ServedAgent, UnknownAgent, compile_agent, find_spec
from functions.runs.event_log import EventLog, event_log
from functions.settings import Settings
from functions.store import keys
from functions.store.allowances import Allowances, Limits, allowances
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client, s3_client
from functions.store.meter import metered
from functions.store.threads import ConversationDeleted, Threads
from functions.web.limits import Allowance
from functions.web.titles import entitle
from graphs.catalog import AGENTS, AgentSpec, Deps
from graphs.stream.parts import text_of
from graphs.titles import rule_title

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.web.rebuilt import Rebuilt
    from graphs.knowledge import KnowledgeSource

log = logging.getLogger(__name__)

Graph = Pregel[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """An agent with everything it needs. `state_keys` None: a graph of one's own, whose state is shown whole. `knowledge`: what its graph
    was built with. `rebuilt`: where runs get the agent, if its keys are secrets; the one here shows threads, and has none."""

    agent: ServedAgent
    settings: Settings
    threads: Threads | None
    state_keys: Sequence[str] | None
    knowledge: KnowledgeSource | None = None
    rebuilt: Rebuilt | None = None
    allowances: Allowances | None = None

    async def with_its_keys(self) -> Served:
        """What a run is made with. Raises `functions.secrets.SecretUnavailable`, or what keeps the agent from being made."""
        return self if self.rebuilt is None else replace(self, agent=await self.rebuilt.now())

    @property
    def offline(self) -> bool:
        return self.settings.model == "offline"

    @property
    def title_model(self) -> BaseChatModel | None:
        """Names conversations; None leaves them the rule's title."""
        return None if self.offline else self.agent.model

    @property
    def unavailable(self) -> str | None:
        """Why the agent cannot run here, and what mends that. Its threads can be read all the same."""
        return self.agent.spec.unavailable(self.settings.chat_model)

    def graph(self, principal: str) -> Graph:
        """The graph on the principal's own threads with this agent."""
        saver = self.agent.graph.checkpointer
        own = keys.owner(self.agent.spec.name, principal)
        return self.agent.graph_for(saver.for_principal(own) if isinstance(saver, DynamoDBSaver) else None)

    def allowance(self, principal: str) -> Allowance | None:
        """What a caller may run; None: there are no limits."""
        saver = self.graph(principal).checkpointer
        return Allowance(self.allowances, principal, saver) if self.allowances and isinstance(saver, DynamoDBSaver) else None

    def event_log(self, principal: str, thread_id: str, run_id: str) -> EventLog | None:
        """The kept events of a run; None: they are not kept."""
        return event_log(self.graph(principal).checkpointer, thread_id, run_id, self.settings.events_hours * 3_600)

    async def touch(self, principal: str, input: RunAgentInput, began: float) -> None:
        """Moves the conversation to the top of its owner's list, and names it. Its failure is logged: the run itself has ended well."""
        if self.threads is None:
            return
        said = next((text_of(m.content) for m in input.messages if m.role == "user"), "")
        title = rule_title(said) or self.agent.spec.title
        try:
            touch = partial(self.threads.touch, agent=self.agent.spec.name, title=title, began=began)
            row = await asyncio.to_thread(touch, principal, input.thread_id)
        except ConversationDeleted:
            return
        except Exception:
            log.exception("the conversation row of thread %s was not updated", input.thread_id)
            return
        if self.title_model is not None:
            try:
                await entitle(self.threads, row, principal, self.title_model, self.graph(principal))
            except Exception:
                log.exception("thread %s keeps its title: the model gave it none", input.thread_id)


def serve_agent(name: str, settings: Settings, graph: Graph | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Served:
    """An agent of the catalog, or a compiled graph of one's own under any name.

    Raises:
        UnknownAgent: no graph was given and the catalog has no such name.
        ValueError: a name with a ":", or limits of callers where the tables are not ours.
    """
    if ":" in name:
        raise ValueError(f"an agent's name holds no colon, which ends it in the store's keys: {name!r}")
    limits = Limits(settings.runs_at_once, settings.runs_a_minute, settings.tokens_a_day)
    if limits and (graph is not None or checkpointer is not None):
        raise ValueError(
            "runs_at_once, runs_a_minute and tokens_a_day are counted in the threads table, which this agent is served without"
        )
    if graph is not None:
        spec = AGENTS.get(name) or AgentSpec(name=name, title=name, description="", module="", state_keys=())
        return Served(ServedAgent(spec, graph), settings, None, spec.state_keys if name in AGENTS else None)
    spec = find_spec(name)
    client = metered(dynamodb_client()) if checkpointer is None else None
    saver = checkpointer or _saver(settings, client)
    table = f"{settings.table_prefix}threads"
    threads = Threads(table, client=client, ttl_seconds=settings.ttl_seconds) if client is not None else None
    counted = allowances(table, limits, client=client) if limits and client is not None else None

    def build(deps: Deps) -> ServedAgent:
        return ServedAgent(spec, compile_agent(spec, deps, saver), deps.model)

    if not settings.secrets:
        deps = make_deps(spec, settings)
        return Served(build(deps), settings, threads, spec.state_keys, deps.knowledge, allowances=counted)
    from functions.web.rebuilt import Rebuilt

    deps = make_deps(spec, settings.model_copy(update={"model": "offline"}))
    rebuilt = Rebuilt(settings, lambda settings: build(make_deps(spec, settings)))
    return Served(build(deps), settings, threads, spec.state_keys, deps.knowledge, rebuilt, counted)


def _saver(settings: Settings, client: DynamoDBClient | None) -> DynamoDBSaver:
    return DynamoDBSaver(
        f"{settings.table_prefix}checkpoints",
        client=client,
        bucket=settings.bucket or None,
        ttl_seconds=settings.ttl_seconds,
        objects_client=metered(s3_client()) if settings.bucket else None,
    )


__all__ = ["Served", "UnknownAgent", "serve_agent"]
