"""Threads of the writing agents, served as functions serve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage

from functions.runs.agents import stream_input
from graphs.catalog import AGENTS, Deps
from graphs.models import ScriptedModel
from tests.support.agent_thread import Json, Run
from tests.support.recording import TRANSIENT

WORKING = "编写中…"
THOUGHT = "先通读全文：1 行，发现 0 处可以改进。逐行改写，其余保持原样。"
"""Of the offline model, about a document of one line."""


def serving(name: str) -> Json:
    """How the agent reads its input: settings of an `AgentThread`."""
    spec = AGENTS[name]
    return {
        "resolve_stream_input": lambda input: stream_input(spec, input),
        "resolve_configurable": lambda input: spec.read_options(input.state, input.forwarded_props).configurable,
        "state_keys": spec.state_keys,
    }


def opened(new: Callable[..., Any], name: str, model: Any, **deps: Any) -> Any:
    """A thread of writer or editorChat; `new(graph, …)` opens it."""
    return new(AGENTS[name].build(Deps(model, **deps)), **serving(name))


async def say(talk: Any, text: str | None, *, thoughts: bool = False, **state: Any) -> Run:
    """A run with this message (None: an empty run) and this state. `thoughts`: those of the rewrite, which the state never receives, may
    be missing from a snapshot that holds others."""
    run = talk.run if text is None else lambda **fields: talk.say(text, **fields)
    done: Run = await run(state=state, transient=(*TRANSIENT["writer"], *([THOUGHT] if thoughts else ())))
    return done


def scripted(*turns: Any) -> ScriptedModel:
    return ScriptedModel(turns=list(turns))


def thinking(thought: str, text: str) -> AIMessage:
    return AIMessage([{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": text}])


def summaries_of(run: Run) -> Json:
    """The value of the run's only CUSTOM event."""
    [event] = run.of("CUSTOM")
    assert event["name"] == "writer_change_summaries"
    value: Json = event["value"]
    return value


def told(run: Run) -> list[str]:
    """What a reader sees of it, in order: texts, thoughts and events by name."""
    seen: list[str] = []
    last = None
    for event in run.of("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "CUSTOM"):
        kind = event["type"].split("_")[0]
        if seen and seen[-1].startswith(f"{kind} ") and "delta" in event and event["messageId"] == last:
            seen[-1] += event["delta"]
        else:
            seen.append(f"{kind} {event.get('delta', event.get('name'))}")
        last = event.get("messageId")
    return seen
