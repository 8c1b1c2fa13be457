"""One run: RUN_STARTED, what the graph does, exactly one terminal event, nothing after it."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ParamSpec, Protocol

from ag_ui.core import (
    BaseEvent,
    EventType,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    StateSnapshotEvent,
    TokenUsage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphDrained
from langgraph.pregel import Pregel
from langgraph.runtime import RunControl

from functions.runs.continuing import Continuation
from functions.runs.errors import MESSAGES, CheckpointerNeeded, RunRejected
from functions.runs.framing import run_failed, run_started
from functions.runs.frontend import client_configurable, frontend_tools, knows_1_0, success
from functions.runs.lease import LEASE_SECONDS, Lease, acquire, already_started
from functions.runs.reasking import asked_again
from functions.runs.recording import LOOKED_UP_WITHIN, Recorder
from functions.runs.stopping import DEADLINE, DRAIN_SECONDS, STOP_REASON, Stopping
from functions.runs.thread import RUN_ID_KEY, Thread, has_checkpointer, public_keys, public_state, read_thread
from functions.runs.turn import InputResolver, Turn, answered_before, plan_turn
from functions.runs.usage import UsageCounter
from graphs.stream import AguiTransformer, MessageIdentity, Prediction, jsonable, map_interrupts, messages_to_agui, same_json

log = logging.getLogger(__name__)

LEASE_LOST = "lease lost"
"""The same of a run whose thread another run has taken over."""
TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)

P = ParamSpec("P")
ConfigurableResolver = Callable[[RunAgentInput], Mapping[str, Any]]


class Admission(Protocol):
    """Who may run so much. Both raise `RunRejected`."""

    async def asked(self) -> None:
        """Before the thread is taken."""

    async def taken(self, lease: Lease | None) -> None:
        """Under its lease, before anything is read."""


class AgentRun:
    """A run in two parts: `prepare` decides what the input means, while HTTP can still answer with a status; `events` streams it.

    Args:
        resolve_stream_input: what the agent makes of the input: a mapping is laid over the default graph input (`{"messages": new}`), any
            other value replaces it, None keeps it. It is not asked on a resume.
        resolve_configurable: extra `configurable` entries; they can never replace `thread_id` or a checkpoint.
        recursion_limit: steps the graph may take.
        state_keys: public keys of STATE_SNAPSHOT and STATE_DELTA, which a client may also set; None shows every output key but `messages`
            and takes none.
        predict_state: (tool, argument, state key): while the argument of a call of that tool streams, the key shows it.
        context: the run's context of a graph with a `context_schema`.
        control: request a drain on it to stop the run at the next step boundary.
        remaining_ms: milliseconds until the deadline of this invocation.
        debug: put the exception's own text on RUN_ERROR.
        lease_seconds: how long the thread stays this run's when its process dies; renewed three times in that time.
        wait_seconds: how long to wait while another run has the thread; after that RUN_ERROR `RUN_IN_PROGRESS`.
        code_version: of the code that runs; when another version ran the thread last, its open questions are asked again before they are
            answered. Empty: not known, they are not.
        idempotency_key: a second run with the same key on this thread is refused with `RUN_IN_PROGRESS`, unless the first one died.
        drain_seconds: so long before the deadline it stops at a step's end.
        continuation: how it goes on in another invocation then; None: it ends with `RUN_DEADLINE`.
        lease: of a run that another invocation has handed over to this one.
        admission: whether the caller may run at all; None: whoever asks. A run that was handed over is not asked for again.
        recorder: keeps the events. It is told where they begin, and the last one while the thread is still held; whoever reads `events`
            hands it the others.
    """

    def __init__(
        self,
        input: RunAgentInput,
        graph: Pregel[Any, Any, Any, Any],
        *,
        agent: str,
        resolve_stream_input: InputResolver | None = None,
        resolve_configurable: ConfigurableResolver | None = None,
        recursion_limit: int | None = None,
        state_keys: Sequence[str] | None = None,
        predict_state: Sequence[Prediction] = (),
        context: Any = None,
        control: RunControl | None = None,
        remaining_ms: Callable[[], int] | None = None,
        debug: bool = False,
        lease_seconds: float = LEASE_SECONDS,
        wait_seconds: float = 0.0,
        idempotency_key: str | None = None,
        code_version: str = "",
        recorder: Recorder | None = None,
        drain_seconds: float = DRAIN_SECONDS,
        continuation: Continuation | None = None,
        lease: Lease | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._input = input
        self._graph = graph
        self._agent = agent
        self._resolve = resolve_stream_input
        self._resolve_configurable = resolve_configurable
        self._settable_keys = [key for key in state_keys or () if key != "messages"]
        self._shown_keys = public_keys(graph, state_keys)
        self._predict_state = predict_state
        self._context = context
        self._control = control or RunControl()
        self._remaining_ms = remaining_ms
        self._debug = debug
        self._lease_seconds, self._wait_seconds, self._idempotency_key = lease_seconds, wait_seconds, idempotency_key
        self._code_version = code_version
        self._recorder = recorder
        self._stopping = Stopping(self._control)
        self._drain_seconds, self._continuation = drain_seconds, continuation
        self._came_by = continuation.came_by if continuation else None
        self.goes_on = False
        """In another invocation: the stream has no terminal event."""
        self._lease = lease
        self._admission = admission if self._came_by is None else None
        self._unplanned: BaseException | None = None
        self._usage = UsageCounter(self._came_by.tokens if self._came_by else ())
        self._turn: Turn | None = None
        self._history: Sequence[Any] = ()
        self._begins_at: RunnableConfig = {}
        self._transformer = AguiTransformer()
        self._output: Thread = Thread()
        self._config: RunnableConfig = {
            "configurable": {**client_configurable(input), "thread_id": input.thread_id},
            "callbacks": [MessageIdentity(), self._usage],
            "metadata": {RUN_ID_KEY: input.run_id},
        }
        if recursion_limit is not None:
            self._config["recursion_limit"] = recursion_limit

    async def prepare(self) -> Turn:
        """Take the thread's lease, read its checkpoint and decide what the input means. The lease is given back by `events`; where that is
        never read, `close` does it.

        Raises:
            RunInProgress: another run has the thread, or this request has started one before.
            RunRejected: it means nothing here. Other errors (the table is unreachable) belong on the stream.
        """
        if self._resolve_configurable is not None:
            own = harmless(self._resolve_configurable(self._input))
            self._config["configurable"] = {**self._config["configurable"], **own}
        if self._admission is not None:
            await self._admission.asked()
        await self._take_lease()
        try:
            if self._admission is not None:
                await self._admission.taken(self._lease)
            self._turn = await (self._recorded_plan(self._recorder, self._lease) if self._recorder and self._lease else self._plan())
        except BaseException as exc:
            self._unplanned = exc
            if self._came_by is None:  # else nobody hears of it but in the stream, which then gives the lease back
                await self.close()
            raise
        return self._turn

    @property
    def used(self) -> list[TokenUsage]:
        """What it has used in this invocation, call by call."""
        return self._usage.here

    async def _take_lease(self) -> None:
        saver = self._graph.checkpointer
        if not isinstance(saver, BaseCheckpointSaver):
            return
        self._lease = self._lease or await acquire(
            saver,
            self._input.thread_id,
            run_id=self._input.run_id,
            seconds=self._lease_seconds,
            wait=self._wait_seconds,
            remaining_ms=self._remaining_ms,
            code=self._code_version,
            request_key=self._idempotency_key or "",
        )
        self._lease.beat(lambda: self._control.request_drain(LEASE_LOST), self._stopping.from_thread())
        if self._lease.checkpointer is not saver:
            self._graph = self._graph.copy({"checkpointer": self._lease.checkpointer})

    async def close(self) -> None:
        """Gives the thread back. `events` does it at its end; a stream that was never read does not. May be repeated."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await lease.release()

    async def _plan(self) -> Turn:
        lease, key = self._lease, self._idempotency_key
        if lease and key and (started := await lease.run_of_request(key)) is not None and started[0] not in lease.dead:
            raise already_started(*started)
        thread = await read_thread(self._graph, self._config)
        if lease and lease.changed:
            thread = await asked_again(self._graph, self._config, thread, lease, self._context)
            await lease.looked_at()
        self._history, self._begins_at = thread.messages, thread.config
        asked = {i.id for i in thread.interrupts} | {entry.interrupt_id for entry in self._input.resume or ()}
        claimed = await lease.answers(sorted(asked)) if lease and asked else None
        alone = lease is None or lease.alone
        turn = await plan_turn(self._input, thread, self._graph, self._config, self._resolve, self._settable_keys, claimed, alone)
        if lease and (answered := await lease.claim(dict(turn.claims))):
            raise answered_before(answered[0])
        if lease and key:
            await lease.started(key)
        return turn

    async def _recorded_plan(self, recorder: Recorder, lease: Lease) -> Turn:
        """Beside the planning it is looked up how far a run with this id was numbered before; another invocation of this very run tells."""
        if self._came_by and self._came_by.number is not None:
            recorder.go_on(self._came_by.number, lease.fence)
            return await self._plan()
        if self._came_by:  # begun before it is planned: a refusal is heard in the kept stream alone
            recorder.begin(await recorder.last(), lease.fence, "", again=self._input.run_id in lease.dead)
            turn = await self._plan()
            recorder.from_checkpoint((turn.fork or self._begins_at).get("configurable", {}).get("checkpoint_id") or "")
            return turn
        numbering = asyncio.create_task(recorder.last())
        try:
            turn = await self._plan()
            await asyncio.wait([numbering], timeout=LOOKED_UP_WITHIN)
            last = numbering.result() if numbering.done() else None
        finally:
            if numbering.cancel():
                log.warning("the events of this run are not kept: their table did not answer in time")
        begins_at = (turn.fork or self._begins_at).get("configurable", {})
        recorder.begin(last, lease.fence, begins_at.get("checkpoint_id") or "", again=self._input.run_id in lease.dead)
        return turn

    async def events(self) -> AsyncGenerator[BaseEvent, None]:
        """The stream: RUN_STARTED, the run, one terminal event. That one is sent when the thread is free: its reader may run it again."""
        end: BaseEvent | None = None
        try:
            if self._came_by is None or self._came_by.number is None:
                yield run_started(self._input)
            async with aclosing(self._to_the_end()) as events:
                async for event in events:
                    if event.type in TERMINAL:
                        end = event
                    else:
                        yield event
        finally:
            if end is not None and self._recorder is not None:
                await self._recorder.end(end)
            await self.close()
        if end is not None:
            yield end

    async def _to_the_end(self) -> AsyncGenerator[BaseEvent, None]:
        try:
            async with aclosing(self._body()) as body:
                async for event in body:
                    yield event
        except Exception as exc:  # noqa: BLE001 - whatever a graph raises ends in RUN_ERROR, and in the log with its stack
            if isinstance(exc, GraphDrained) and exc.reason == DEADLINE and self._continuation and self._recorder:
                for event in self._transformer.close():
                    yield event
                # what was yielded is recorded by now
                self.goes_on = await self._continuation.hand_over(self._recorder, self._lease, self._usage.total() or ())
            if self.goes_on:
                self._lease = None
                return
            for event in self._end_of(exc):
                yield event

    async def _body(self) -> AsyncGenerator[BaseEvent, None]:
        if self._unplanned is not None:
            raise self._unplanned  # not once more: meanwhile the input may mean something else
        turn = self._turn or await self.prepare()
        for notice in turn.notices:
            yield notice
        if turn.runs:
            async with aclosing(self._drive(turn)) as driven:
                async for event in driven:
                    yield event
        if not self._transformer.lifecycle.finished:
            for event in await self._ending(turn):
                yield event

    def _end_of(self, exc: Exception) -> list[BaseEvent]:
        if self._transformer.lifecycle.finished:
            log.error("the run went wrong after its terminal event", exc_info=exc)
            return []
        if isinstance(exc, RunRejected):
            return [RunErrorEvent(message=exc.message, code=exc.code)]
        if isinstance(exc, GraphDrained):
            return self._drained(exc.reason)
        return self._failed(exc)

    # -- the run

    async def _drive(self, turn: Turn) -> AsyncGenerator[BaseEvent, None]:
        config: RunnableConfig = {**self._config, "metadata": {**self._config["metadata"], **turn.metadata}}
        if turn.fork is not None:
            config = {**config, "configurable": {**turn.fork.get("configurable", {}), **config["configurable"]}}
        self._stopping.check()
        run = await self._start(turn.graph_input, config)
        self._stopping.of(run)
        if turn.fork is None:
            self._transformer.know_history(self._history)
        self._transformer.show_state(self._shown_keys, self._predict_state)
        try:
            async with run, self._stopping.before_the_deadline(self._remaining_ms, self._drain_seconds):
                async for event in run.extensions["agui_events"]:
                    yield self._own(event) if event.type is EventType.RUN_FINISHED else event
                self._stopping.check(unless=self._transformer.lifecycle.finished)
                if not has_checkpointer(self._graph):
                    self._output = Thread(values=await run.output() or {})
                    if await run.interrupts() and not self._transformer.lifecycle.finished:
                        raise CheckpointerNeeded
        finally:
            await self._stopping.done()

    async def _start(self, graph_input: Any, config: RunnableConfig) -> Any:
        """Starts the run with our transformer, unless the graph was compiled with one: the same one twice is a key conflict."""
        run = await self._stream(graph_input, config, None)
        if "agui_events" in run.extensions:
            self._transformer = run._mux.transformer_by_key("agui_events")
            return run
        instances: list[AguiTransformer] = []

        def factory(scope: tuple[str, ...]) -> AguiTransformer:
            instances.append(AguiTransformer(scope))
            return instances[-1]

        run = await self._stream(graph_input, config, [factory])
        self._transformer = instances[0]
        return run

    async def _stream(self, graph_input: Any, config: RunnableConfig, transformers: Any) -> Any:
        durability = {"durability": "sync"} if has_checkpointer(self._graph) else {}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The v3 streaming protocol")
            return await self._graph.astream_events(
                graph_input, config, version="v3", transformers=transformers, control=self._control, context=self._context, **durability
            )

    def _own(self, event: Any) -> BaseEvent:
        """A node's own end: under the ids of this run, in words that the client knows, without a guess at what is pending."""
        outcome = event.outcome.model_dump(exclude={"pending_tool_call_ids"}) if event.outcome is not None else None
        if outcome and outcome["type"] == "cancelled" and not knows_1_0(self._input.protocol_version):
            return RunErrorEvent(message=MESSAGES["STOPPED"], code="STOPPED")
        return RunFinishedEvent.model_validate(
            {**event.model_dump(), "thread_id": self._input.thread_id, "run_id": self._input.run_id, "outcome": outcome}
        )

    # -- the end

    async def _ending(self, turn: Turn) -> list[BaseEvent]:
        thread = await read_thread(self._graph, self._config) if has_checkpointer(self._graph) else self._output
        interrupts = map_interrupts(thread.interrupts, thread.messages)
        events = self._transformer.close(suspended=[i.id for i in interrupts] if interrupts else None)
        snapshot = public_state(thread, self._shown_keys)
        if interrupts or self._transformer.state_shown or not same_json(snapshot, jsonable(self._input.state or {})):
            events.append(StateSnapshotEvent(snapshot=snapshot))
        if messages := messages_to_agui([*thread.messages, *turn.unsent]):
            events.append(MessagesSnapshotEvent(messages=messages))
        ended = success(thread.messages, frontend_tools(self._input), self._input.protocol_version)
        outcome = {"type": "interrupt", "interrupts": interrupts} if interrupts else ended
        return [*events, self._finished(outcome)]

    def _finished(self, outcome: Mapping[str, Any]) -> RunFinishedEvent:
        ids = {"threadId": self._input.thread_id, "runId": self._input.run_id}
        return RunFinishedEvent.model_validate({**ids, "outcome": outcome, "usage": self._usage.total()})

    def _drained(self, reason: str) -> list[BaseEvent]:
        code = {STOP_REASON: "STOPPED", LEASE_LOST: "LEASE_LOST"}.get(reason, "RUN_DEADLINE")
        events = self._transformer.close(failed=MESSAGES[code])
        if code == "STOPPED" and knows_1_0(self._input.protocol_version):
            return [*events, self._finished({"type": "cancelled"})]
        return [*events, RunErrorEvent(message=MESSAGES[code], code=code, usage=self._usage.total())]

    def _failed(self, exc: Exception) -> list[BaseEvent]:
        message, code, metadata = run_failed(exc, self._input, agent=self._agent, debug=self._debug)
        events = self._transformer.close(failed=message)
        return [*events, RunErrorEvent(message=message, code=code, usage=self._usage.total(), metadata=metadata)]


def _served(make: Callable[P, AgentRun]) -> Callable[P, AsyncGenerator[BaseEvent, None]]:
    def stream_graph_agui_events(*args: P.args, **keywords: P.kwargs) -> AsyncGenerator[BaseEvent, None]:
        """Serve one run of any compiled graph, with any checkpointer or none: what `AgentRun` takes.

        Yields:
            AG-UI events, RUN_STARTED first and one RUN_FINISHED or RUN_ERROR last, whatever happens. Closing it cancels the graph.
        """
        return make(*args, **keywords).events()

    return stream_graph_agui_events


stream_graph_agui_events = _served(AgentRun)


def harmless(configurable: Mapping[str, Any]) -> dict[str, Any]:
    """Without the keys that decide which checkpoint is read: those are the thread's, not the client's."""
    return {k: v for k, v in configurable.items() if k != "thread_id" and not k.startswith(("checkpoint", "__pregel"))}
