"""Runs that LangGraph might stream: models at once, tools, tasks, customs, in any order, whole or cut short, at any depth.

A story is one run, told by a `random.Random`: Hypothesis brings its own, so that it can shrink. Call ids may repeat in a later turn, as
with models that count their calls; within a turn, and for models whose message is never stored, they are the call's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.types import Command, Interrupt

from graphs.stream import messages_to_agui
from graphs.stream.ledger import generated_call_id
from tests.support.native_events import CUSTOMS, native_event

Part = Mapping[str, Any]
Lane = list[Part]
Path = tuple[str, ...]

PLACES: Sequence[Path] = ((), (), (), ("agent:t1",), ("agent:t1", "inner:t2"), ("tools:t3", "1"))
BLOCKS = ("text", "text", "reasoning", "reasoning", "call", "call", "call", "atomic", "invalid", "other")
OTHERS = ("image", "file", "audio", "server_tool_call", "server_tool_result", "non_standard", "citation", "nobody_knows")
QUESTION = Interrupt(value={"type": "approval", "message": "Sure?"}, id="i1")
ENDINGS: Sequence[Any] = (None, None, None, "interrupt", ValueError("x"), ConnectionError("x"), GraphRecursionError("x"))
DRAINS = ("stop", "deadline")


def part(method: str, data: Any, at: Path = (), **more: Any) -> Part:
    return {"type": method, "ns": at, "data": data, **more}


@dataclass
class Story:
    """What the engine streams, and what the checkpoint says before and after."""

    rng: Random
    history: list[BaseMessage] = field(default_factory=list)
    stored: list[BaseMessage] = field(default_factory=list)
    parts: Lane = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    """Ids of the messages that streamed and are in the state at the end."""
    ending: Any = None
    asked_before: bool = False
    version: str | None = None

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        return (QUESTION,) if self.ending == "interrupt" else ()

    @property
    def error(self) -> Exception | None:
        return self.ending if isinstance(self.ending, Exception) else None

    def input(self) -> RunAgentInput:
        """A new message, or the answer to the question that the history ends with."""
        sent: dict[str, Any] = {"threadId": "t", "runId": "r", "tools": [], "context": [], "state": {}, "forwardedProps": {}}
        sent["messages"] = [{"id": "u1", "role": "user", "content": "hi"}, *self._shown()]
        if self.asked_before:
            sent["resume"] = [{"interruptId": "i1", "status": "resolved", "payload": {"approved": True}}]
        else:
            sent["messages"].append({"id": "u2", "role": "user", "content": "and?"})
        return RunAgentInput.model_validate(sent | ({"protocolVersion": self.version} if self.version else {}))

    def _shown(self) -> list[dict[str, Any]]:
        return [shown.model_dump(mode="json", by_alias=True, exclude_none=True) for shown in messages_to_agui(self.history)[1:]]


def tell(rng: Random) -> Story:
    """One run, up to three turns of it."""
    story = Story(rng, ending=rng.choice(ENDINGS), version=rng.choice([None, "1.0"]))
    if rng.random() < 0.15:
        story.ending = GraphDrained(rng.choice(DRAINS))
    _history(story)
    story.stored = list(story.history)
    if not story.asked_before:
        story.stored.append(HumanMessage("and?", id="u2"))
    if rng.random() < 0.8:
        story.parts.append(part("values", {"messages": list(story.stored)}))
    for number in range(rng.randint(0, 3)):
        _turn(story, number)
    if story.interrupts:
        story.parts.append(part("values", {"messages": list(story.stored)}, interrupts=story.interrupts))
    return story


def _history(story: Story) -> None:
    rng = story.rng
    story.history = [HumanMessage("hi", id="u1")]
    if rng.random() < 0.6:
        asked = [_call("c1")] + ([_call("c9")] if rng.random() < 0.6 else [])
        story.history += [AIMessage("before", id="h1", tool_calls=asked), ToolMessage("done", tool_call_id="c1", id="h2")]
        story.asked_before = len(asked) == 2
        if not story.asked_before:
            story.history.append(AIMessage("so", id="h3"))


def _turn(story: Story, number: int) -> None:
    """Models at once and what is said beside them, then the tools, then the state; tasks around all of it."""
    rng = story.rng
    lanes: list[Lane] = []
    answers: list[Lane] = []
    for position in range(rng.randint(0, 3)):
        told = _Model(rng, f"{number}-{position}")
        lanes.append(told.events)
        if told.stored is not None:
            story.stored.append(told.stored)
            story.kept.add(str(told.stored.id))
            answers += [_answer(story, str(call["id"]), f"t-{number}-{position}", told.at) for call in told.stored.tool_calls]
    if story.asked_before and number == 0 and rng.random() < 0.7:
        message = ToolMessage("late", tool_call_id="c9", id="t-c9")
        answers.append(_tool(rng, "c9", message, ()))
        story.stored.append(message)
    around = _tasks(rng, number)
    beside = [_said(rng) for _ in range(rng.randint(0, 2))]
    story.parts += interleaved(rng, [*lanes, *beside[:1], *around[:1]])
    story.parts += interleaved(rng, [*answers, *beside[1:], *around[1:]])
    if rng.random() < 0.3:
        story.parts.append(part("values", {"messages": list(story.stored)}, ("agent:t1",)))
    story.parts.append(part("values", {"messages": list(story.stored)}))


def _answer(story: Story, call_id: str, name: str, at: Path) -> Lane:
    """The events of the tool; its message is stored, unless it was never reported."""
    rng = story.rng
    message = ToolMessage("found", tool_call_id=call_id, id=f"{name}-{call_id}", status=rng.choice(["success", "error"]))
    reported = _tool(rng, call_id, message, at)
    if rng.random() < 0.8 or any(event["data"].get("event") == "tool-finished" for event in reported):
        story.stored.append(message)
    return reported


class _Model:
    """One model call: its events, and the message that is stored at the end; None if it failed, was cut short, or lives elsewhere."""

    def __init__(self, rng: Random, name: str) -> None:
        self._rng, self._name = rng, name
        self.at: Path = rng.choice(PLACES)
        self._run = f"run-{name}"
        self._id = f"m-{name}" if rng.random() < 0.9 else None
        self._calls: list[Any] = []
        self._invalid: list[Any] = []
        self._texts: list[Any] = []
        self._lost = bool(self.at) or rng.random() < 0.25
        kinds = rng.choices(BLOCKS, k=rng.randint(0, 4))
        step = rng.choice([1, 1, 1, 3])
        blocks = [self._block(kind, position * step) for position, kind in enumerate(kinds)]
        started = [self._event("message-start", id=self._id, role="ai")] * rng.choice([1, 1, 1, 2])
        streamed = interleaved(rng, [b[0] for b in blocks]) if rng.random() < 0.3 else [e for b in blocks for e in b[0]]
        whole = [*started, *streamed, *(b[1] for b in blocks), self._event("message-finish")]
        self.events: Lane = self._as_it_went(whole)
        self.stored = None if self._lost else self._message()

    def _event(self, event: str, **fields: Any) -> Part:
        return part("messages", ({"event": event, **fields}, {"run_id": self._run, "langgraph_checkpoint_ns": "model:t0"}), self.at)

    def _as_it_went(self, whole: Lane) -> Lane:
        rng = self._rng
        if not self._lost:
            return whole if rng.random() < 0.9 else [part("messages", (self._message(), {"run_id": "other"}), self.at)]
        ways = [whole, whole[: rng.randint(0, len(whole))], [*whole[: rng.randint(1, len(whole))], self._event("error", message="x")]]
        return rng.choice([*ways, [e for e in whole if rng.random() < 0.7]])

    def _block(self, kind: str, index: int) -> tuple[Lane, Part]:
        make = {"text": self._text, "reasoning": self._reasoning, "call": self._call, "atomic": self._call, "invalid": self._call}.get(kind)
        if make is None:
            content = {"type": self._rng.choice(OTHERS), "name": "search", "id": "s1"}
            start = self._event("content-block-start", index=index, content=content)
            odd = self._event("content-block-delta", index=index, delta={"type": "block-delta", "fields": {"a": 1}})
            return [start, odd], self._event("content-block-finish", index=index, content=content)
        return make(kind, index)

    def _text(self, kind: str, index: int) -> tuple[Lane, Part]:
        pieces = self._rng.choice([["a ", "b"], ["a"], ["", "\ud83d"], []])
        self._texts.append({"type": "text", "text": "".join(pieces)})
        return self._spoken("text", index, pieces), self._finished(index, type="text", text="".join(pieces))

    def _reasoning(self, kind: str, index: int) -> tuple[Lane, Part]:
        pieces = self._rng.choice([["hm ", "so"], ["hm"], [""], []])
        self._texts.append({"type": "reasoning", "reasoning": "".join(pieces)})
        extras = self._rng.choice([{}, {}, {"extras": {"signature": "sig"}}])
        return self._spoken("reasoning", index, pieces), self._finished(index, type="reasoning", reasoning="".join(pieces), **extras)

    def _spoken(self, kind: str, index: int, pieces: Sequence[str]) -> Lane:
        begin = [self._event("content-block-start", index=index, content={"type": kind, kind: ""})] if self._rng.random() < 0.8 else []
        return begin + [self._event("content-block-delta", index=index, delta={"type": f"{kind}-delta", kind: p}) for p in pieces]

    def _call(self, kind: str, index: int) -> tuple[Lane, Part]:
        rng, position = self._rng, len(self._calls)
        own = f"{self._name}-{index}"
        counted = f"c{self._name[-1]}{index}"
        call_id = own if self._lost else rng.choice([own, counted, counted, "" if kind == "atomic" else own])
        if kind == "invalid":
            bad = {"type": "invalid_tool_call", "id": call_id, "name": "f", "args": '{"q', "error": "x"}
            self._invalid.append(bad)
            return self._arguments(index, call_id, ['{"q']), self._finished(index, **bad)
        args = rng.choice([{"q": "x"}, {}, {"é": [1, None]}])
        mid = self._id or f"lc_run--{self._run}"
        self._calls.append({"name": "f", "args": args, "id": call_id or generated_call_id(mid, position + 1), "type": "tool_call"})
        end = self._finished(index, type="tool_call", id=call_id, name="f", args=args)
        if kind == "atomic":
            begun = {"type": "tool_call", "id": call_id, "name": "f", "args": {}}
            return [self._event("content-block-start", index=index, content=begun)], end
        return self._arguments(index, call_id, ['{"q":', '"x"}'] if args else []), end

    def _arguments(self, index: int, call_id: str, pieces: Sequence[str]) -> Lane:
        named = {"id": call_id, "name": "f"} if self._rng.random() < 0.9 else {"id": None, "name": None}
        start = self._event("content-block-start", index=index, content={"type": "tool_call_chunk", "args": "", **named})
        return [start, *(self._event("content-block-delta", index=index, delta={"type": "tool-call-delta", "args": p}) for p in pieces)]

    def _finished(self, index: int, **content: Any) -> Part:
        return self._event("content-block-finish", index=index, content=content)

    def _message(self) -> AIMessage:
        named = self._id or f"lc_run--{self._run}"
        return AIMessage(list(self._texts), id=named, tool_calls=list(self._calls), invalid_tool_calls=self._invalid)


def _call(call_id: str) -> Any:
    return {"name": "f", "args": {}, "id": call_id, "type": "tool_call"}


def _tool(rng: Random, call_id: str, message: ToolMessage, at: Path) -> Lane:
    """A tool's events: all of them, some, some twice; a resumed tool starts again."""

    def event(kind: str, **fields: Any) -> Part:
        return part("tools", {"event": f"tool-{kind}", "tool_call_id": call_id, **fields}, at)

    given = rng.choice([{"q": "x"}, None, "text", {"state": object()}])
    started = [event("started", tool_name="f", input=given)] * rng.choice([0, 1, 1, 1, 2])
    deltas = [event("output-delta", delta=rng.choice(["x", {"n": 1}, float("nan")])) for _ in range(rng.choice([0, 0, 1, 3]))]
    output: Any = rng.choice([message, message, Command(update={"messages": [message]}), [message]])
    done = rng.choice([[event("finished", output=output)], [event("error", message="broke")], []])
    return [*started, *deltas, *done * rng.choice([1, 1, 2])]


def _tasks(rng: Random, number: int) -> list[Lane]:
    """Starts and ends of nodes, at any depth; a resumed task starts without an end, a failed one ends with its error."""
    lanes: list[Lane] = []
    for position in range(rng.randint(0, 3)):
        at: Path = rng.choice(PLACES)
        task_id, name = rng.choice(["t1", "t2", "t3", f"t-{number}-{position}"]), rng.choice(["agent", "tools", "model"])
        data: dict[str, Any] = {"id": task_id, "name": name}
        result = {**data, "result": {}, **rng.choice([{}, {}, {"error": "x"}, {"interrupts": [{"id": "i1", "value": 1}]}])}
        start, end = part("tasks", {**data, "input": {}, "metadata": {"lc_agent_name": "helper"}}, at), part("tasks", result, at)
        lanes.append(rng.choice([[start, end], [start, end], [start], [end], [start, start, end]]))
    return lanes


def _said(rng: Random) -> Lane:
    at: Path = rng.choice(PLACES)
    said = [rng.choice(CUSTOMS) if rng.random() < 0.2 else {"name": "agui", "payload": native_event(rng)} for _ in range(rng.randint(0, 5))]
    return [part("custom", one, at) for one in said]


def interleaved(rng: Random, lanes: Sequence[Lane]) -> Lane:
    """All of them at once, each in its own order."""
    waiting = [list(lane) for lane in lanes if lane]
    mixed: Lane = []
    while waiting:
        lane = rng.choice(waiting)
        mixed.append(lane.pop(0))
        waiting = [w for w in waiting if w]
    return mixed
