"""One input against one thread → what the graph is given. History lives in the checkpoint; a client's copy of it is not taken back in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ag_ui.core import BaseEvent, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import Command, Overwrite

from functions.runs.answers import Answers, match_answers, question_digests, value_digests
from functions.runs.errors import RunRejected
from functions.runs.frontend import frontend_tools
from functions.runs.thread import ANSWER_KEY, Thread, earlier_states, given_answers, has_checkpointer, public_state, read_thread
from functions.store.claims import Claim
from graphs.stream import jsonable, message_from_agui, messages_from_agui, messages_to_agui, same_json, wire_call_ids

log = logging.getLogger(__name__)

_NO_TASK = str(UUID(int=0))
"""The task id of what a `Command` itself writes."""
STILL_RUNNING = "The question is answered, and the run of that answer has not ended. If it was cut off, an empty run continues it."
LOST_RESULT = "The run ended before this tool returned a result."

InputResolver = Callable[[RunAgentInput], Any]


@dataclass(slots=True)
class Turn:
    """`runs` False: the input changes nothing, the stream reports how the thread stands."""

    graph_input: Any = None
    runs: bool = True
    fork: RunnableConfig | None = None
    notices: Sequence[BaseEvent] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the run's checkpoints keep about this input."""
    claims: Mapping[str, Claim] = field(default_factory=dict)
    """The answers, by interrupt, that belong to their questions from now on."""
    unsent: Sequence[BaseMessage] = ()
    """New messages that were not taken, shown at the end of the snapshot so that the client does not drop them."""


async def plan_turn(
    input: RunAgentInput,
    thread: Thread,
    graph: Pregel[Any, Any, Any, Any],
    config: RunnableConfig,
    resolve: InputResolver | None,
    state_keys: Sequence[str],
    claimed: Mapping[str, Claim] | None,
    alone: bool,
) -> Turn:
    """What this input means for this thread.

    Args:
        claimed: the answers that earlier runs were started with, by interrupt, of those that this input is about. What is still open was
            claimed by a run that died before the graph heard it. None: not known, the checkpoints tell.
        alone: no other process can be running this thread.

    Raises:
        RunRejected: it means nothing (422), answers a question wrongly (`INVALID_RESUME`), or answers one again whose run has not ended
            (`RUN_IN_PROGRESS`): it may be alive in another process, so it is neither run twice nor called a success.
    """
    if not has_checkpointer(graph):
        given = _graph_input(input, messages_from_agui(input.messages), graph, resolve, state_keys, thread)
        return Turn(given, notices=match_answers(input.resume or (), ()).ignored)
    new = _new_messages(input, thread)
    answers = _with_claimed(match_answers(input.resume or (), thread.interrupts, thread.changed), claimed or {}, thread)
    repeated = await _repeated_answers(answers, thread, graph, config, claimed)
    if thread.interrupts:
        shared = _shared_state(input, graph, state_keys, thread) if answers.values else {}
        return _answering(answers, new, thread, await _not_yet_set(shared, graph, config))
    if new:
        before = [*await _unsaved(thread, graph, config), *_lost_results(thread, new)]
        given = _graph_input(input, [*before, *new], graph, resolve, state_keys, thread)
        return Turn(given, notices=answers.ignored)
    if input.resume:
        if thread.unfinished and not thread.failed and not alone:
            raise RunRejected(409, "RUN_IN_PROGRESS", STILL_RUNNING)
        # the run that the answer started has failed at a later step: the same answer again is its retry. One that died is continued
        return Turn(runs=thread.unfinished and (repeated or not thread.failed), notices=answers.ignored)
    if again := _edited(input, thread):
        fork, _ = await _state_before(str(again[0].id), graph, config, input.run_id)
        return Turn(_graph_input(input, again, graph, resolve, state_keys, thread), fork=fork)
    if again := _regenerated(input, thread):
        fork, late = await _state_before(str(again[0].id), graph, config, input.run_id)
        return Turn(runs=False) if late else Turn(_graph_input(input, again, graph, resolve, state_keys, thread), fork=fork)
    return _without_messages(input, thread, graph, resolve, state_keys)


def _answering(answers: Answers, new: Sequence[BaseMessage], thread: Thread, shared: Mapping[str, Any]) -> Turn:
    """A question is open. A text beside it is no answer and is not stored; results of frontend tools and what the client changed in the
    shared state go in with an answer."""
    if not answers.values:
        return Turn(runs=False, notices=answers.ignored, unsent=new)
    unsent = [m for m in new if isinstance(m, HumanMessage)]
    results = [m for m in new if isinstance(m, ToolMessage)]
    update = {**shared, **({"messages": results} if results else {})} or None
    metadata = {ANSWER_KEY + interrupt_id: digest for interrupt_id, digest in answers.digests.items()}
    asked = question_digests(thread.interrupts)
    claims = {i: Claim(digest, answers.values[i], asked[i]) for i, digest in answers.digests.items()}
    resume: Command[Any] = Command(resume=answers.values, update=update)
    return Turn(resume, notices=answers.ignored, metadata=metadata, claims=claims, unsent=unsent)


def _with_claimed(answers: Answers, claimed: Mapping[str, Claim], thread: Thread) -> Answers:
    """The run that claimed an answer died before the graph heard it: it is heard now, whatever else was sent. An answer to what was asked
    in that place by other code is not."""
    asked = question_digests(thread.interrupts)
    still_open = {i: claimed[i] for i in sorted(asked.keys() & claimed.keys()) if claimed[i].question in ("", asked[i])}
    for interrupt_id, claim in still_open.items():
        if answers.digests.get(interrupt_id, claim.digest) != claim.digest:
            raise answered_before(interrupt_id)
        answers.values[interrupt_id], answers.digests[interrupt_id] = claim.value, claim.digest
    return answers


def answered_before(interrupt_id: str) -> RunRejected:
    return RunRejected(409, "ALREADY_ANSWERED", f"The question {interrupt_id} was answered before, and differently.")


async def _repeated_answers(
    answers: Answers, thread: Thread, graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, claimed: Mapping[str, Claim] | None
) -> bool:
    """Whether there are any. A question takes one answer: the same again (a double click) changes nothing, another one is too late."""
    if claimed is None:
        told = await given_answers(graph, config, answers.unknown)
    else:
        told = {interrupt_id: claimed[interrupt_id].digest for interrupt_id in answers.unknown if interrupt_id in claimed}
    given = {interrupt_id: frozenset([digest]) for interrupt_id, digest in told.items()}
    given |= {i: value_digests(value) for i, value in thread.answered.items() if i in answers.unknown}
    for interrupt_id, digests in given.items():
        if answers.unknown[interrupt_id] not in digests:
            raise answered_before(interrupt_id)
    return bool(given)


def _without_messages(
    input: RunAgentInput, thread: Thread, graph: Pregel[Any, Any, Any, Any], resolve: InputResolver | None, state_keys: Sequence[str]
) -> Turn:
    if thread.unfinished:
        return Turn(None)
    if thread.run_id == input.run_id and thread.messages:
        return Turn(runs=False)
    if not thread.messages:
        own = resolve(input) if resolve is not None else None
        given = _graph_input(input, [], graph, lambda _: own, state_keys, thread)
        if given and (own or not _is_empty(given)):  # an agent's rule may want to run on nothing
            return Turn(given)
    raise RunRejected(422, "BAD_INPUT", "There is nothing to do: send a new user message, or `resume` for an open question.")


def _is_empty(given: Any) -> bool:
    return isinstance(given, Mapping) and not any(given.values())


def _graph_input(
    input: RunAgentInput,
    messages: list[BaseMessage],
    graph: Pregel[Any, Any, Any, Any],
    resolve: InputResolver | None,
    state_keys: Sequence[str],
    thread: Thread,
) -> Any:
    """The new messages, the client's public state where it differs, and what the agent's own rule makes of the input."""
    given: dict[str, Any] = {"messages": messages} if "messages" in graph.channels else {}
    given |= _shared_state(input, graph, state_keys, thread)
    own = resolve(input) if resolve is not None else None
    if own is None:
        return given
    if not isinstance(own, Mapping):
        return own
    return {**given, **own}


def _shared_state(input: RunAgentInput, graph: Pregel[Any, Any, Any, Any], state_keys: Sequence[str], thread: Thread) -> dict[str, Any]:
    """The public keys that the client changed: those whose value is another one than the snapshot of the thread would show."""
    state = input.state if isinstance(input.state, Mapping) else {}
    known = public_state(thread, state_keys)
    changed = [k for k in state_keys if k in state and k in graph.channels and not same_json(jsonable(state[k]), known.get(k))]
    return {k: _whole(graph.channels[k], state[k]) for k in changed}


def _whole(channel: Any, value: Any) -> Any:
    """A client sends the value itself: a reducer would add it to what is there."""
    return Overwrite(value) if isinstance(channel, (BinaryOperatorAggregate, DeltaChannel)) else value


async def _not_yet_set(shared: dict[str, Any], graph: Pregel[Any, Any, Any, Any], config: RunnableConfig) -> dict[str, Any]:
    """Without the keys that were set beside an earlier answer in the same step: LangGraph takes one value a step, and refuses the thread
    for good when there are two."""
    if not shared or not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return shared
    stored = await graph.checkpointer.aget_tuple(config)
    taken = {channel for task, channel, _ in (stored.pending_writes or () if stored else ()) if task == _NO_TASK}
    if again := sorted(shared.keys() & taken):
        log.warning("the client changed %s again before the step was over: not taken", ", ".join(again))
    return {key: value for key, value in shared.items() if key not in taken}


# -- messages


def _new_messages(input: RunAgentInput, thread: Thread) -> list[BaseMessage]:
    """Those the checkpoint does not have, after the last that it has: user messages, and answers to frontend tools."""
    stored = {m.id for m in thread.messages}
    tail = list(input.messages)
    known = [i for i, m in enumerate(tail) if m.id in stored]
    if known:
        tail = tail[known[-1] + 1 :]
    elif stored:
        tail = trailing_messages(input)
    open_calls = _open_frontend_calls(input, thread)
    converted: list[BaseMessage] = []
    for message in tail:
        taken = message.role == "user" or (message.role == "tool" and message.tool_call_id in open_calls)
        if taken and (stored_form := message_from_agui(message)) is not None:
            converted.append(_with_raw_call_id(stored_form, open_calls))
    return converted


def trailing_messages(input: RunAgentInput) -> list[Any]:
    """The client's messages after the last assistant message: without the checkpoint, the best guess at what is new."""
    last = max((i for i, m in enumerate(input.messages) if m.role == "assistant"), default=-1)
    return list(input.messages[last + 1 :])


def _with_raw_call_id(message: BaseMessage, open_calls: Mapping[str, str]) -> BaseMessage:
    if isinstance(message, ToolMessage):
        message.tool_call_id = open_calls[message.tool_call_id]
    return message


def _open_frontend_calls(input: RunAgentInput, thread: Thread) -> dict[str, str]:
    """Wire id → stored id of calls to the client's own tools that wait for their result."""
    return {c.wire: c.raw for c in wire_call_ids(thread.messages) if not c.answered and c.name in frontend_tools(input)}


async def _unsaved(thread: Thread, graph: Pregel[Any, Any, Any, Any], config: RunnableConfig) -> list[BaseMessage]:
    """Messages of tasks that had ended when their run died, in a step whose checkpoint was not stored. LangGraph drops them for a new
    input, and a call would lose its result, or a result its call."""
    if not thread.unfinished:
        return []
    checkpoint = await read_thread(graph, {"configurable": {**config["configurable"], **thread.config["configurable"]}})
    stored = {message.id for message in checkpoint.messages}
    return [message for message in thread.messages if message.id not in stored]


def _lost_results(thread: Thread, new: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Error results for calls that never got one (the tool raised, the run died): providers refuse a history without them."""
    given = {m.tool_call_id for m in new if isinstance(m, ToolMessage)}
    last = next((m for m in reversed(thread.messages) if isinstance(m, AIMessage)), None)
    open_calls = [c for c in wire_call_ids(thread.messages) if not c.answered and last is not None and c.message_id == last.id]
    return [
        ToolMessage(content=LOST_RESULT, tool_call_id=c.raw, name=c.name, status="error", id=f"lost-{c.wire}")
        for c in open_calls
        if c.raw not in given
    ]


# -- forks


async def _state_before(
    message_id: str, graph: Pregel[Any, Any, Any, Any], config: RunnableConfig, run_id: str
) -> tuple[RunnableConfig | None, bool]:
    """The config of the newest finished checkpoint without that message; for a thread's first message, the one that took it in. And whether
    a run of that id has been here since: the request is one that comes again, late."""
    taking_in: RunnableConfig | None = None
    late = False
    async for earlier in earlier_states(graph, config):
        if any(m.id == message_id for m in earlier.messages):
            late = late or earlier.run_id == run_id
        elif not earlier.unfinished:
            return earlier.config, late
        else:
            taking_in = taking_in or earlier.config
    return taking_in, late


def _edited(input: RunAgentInput, thread: Thread) -> list[BaseMessage]:
    shown = {m.id: m.content for m in messages_to_agui(thread.messages) if m.role == "user"}
    for position, message in enumerate(input.messages):
        if message.role == "user" and message.id in shown and not _same(message.content, shown[message.id]):
            rest = [m for m in input.messages[position:] if m.role == "user" and (m is message or m.id not in shown)]
            return messages_from_agui(rest)
    return []


def _regenerated(input: RunAgentInput, thread: Thread) -> list[BaseMessage]:
    last = input.messages[-1] if input.messages else None
    if last is None or last.role != "user" or thread.unfinished or thread.run_id == input.run_id:
        return []
    return messages_from_agui([last])


def _same(sent: Any, stored: Any) -> bool:
    return bool(_dumped(sent) == _dumped(stored))


def _dumped(content: Any) -> Any:
    return content if isinstance(content, str) else [part.model_dump(by_alias=True, exclude={"id", "metadata"}) for part in content]
