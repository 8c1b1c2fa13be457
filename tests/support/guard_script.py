"""Scripts for the lifecycle guard: what it is offered, and what it lets through, a word or two an event.

`+text m` starts, `.text m` goes on, `0text m` goes on with nothing, `-text m` ends; the same for `think`, `span`, `call`, `step`, `agent`
(`xagent a`: it failed). `result c` is a tool's result, `@a` behind an event its sub-agent. `know c` and `know c answered` are calls of the
history, `know message m` is a message of it. `~` before an event: it is adopted first. `close`, `close suspended`, `close failed` end what
is open. `open text m` asks. In what comes out, `!` stands for an event that was refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ag_ui.core import BaseEvent, Event
from pydantic import TypeAdapter

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)
_STEMS = {
    "text": ("TEXT_MESSAGE", "messageId"),
    "think": ("REASONING_MESSAGE", "messageId"),
    "span": ("REASONING", "messageId"),
    "call": ("TOOL_CALL", "toolCallId"),
    "step": ("STEP", "stepName"),
    "agent": ("SUBAGENT", "subagentRunId"),
}
_HOW: dict[str, dict[str, Any]] = {"suspended": {"suspended": ["i"]}, "failed": {"failed": "m"}}
_LATER = {"step": ("STARTED", "FINISHED"), "agent": ("STARTED", "FINISHED")}
_MORE: dict[str, dict[str, Any]] = {
    "REASONING_MESSAGE_START": {"role": "reasoning"},
    "TOOL_CALL_START": {"toolCallName": "f"},
    "SUBAGENT_STARTED": {"name": "n"},
    "SUBAGENT_ERROR": {"message": "m"},
}
_PLAIN: dict[str, dict[str, Any]] = {
    "started": {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    "finished": {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    "error": {"type": "RUN_ERROR", "message": "m"},
    "custom": {"type": "CUSTOM", "name": "n", "value": 1},
}


def play(module: ModuleType, script: str) -> str:
    """What a new guard of `module` makes of the script; an exception that is no refusal is its name."""
    guard = module.Lifecycle()
    out: list[str] = []
    for step in script.split(", "):
        try:
            out += [event if isinstance(event, str) else _word(event) for event in _step(guard, step)]
        except module.Refused:
            out.append("!")
        except Exception as error:  # noqa: BLE001 - a mutant may fail in any way
            return type(error).__name__
    return ", ".join(out)


def _step(guard: Any, step: str) -> Iterable[BaseEvent | str]:
    verb, _, rest = step.removeprefix("~").partition(" ")
    if verb == "open":
        return [step] if guard.is_open(*rest.split()) else [f"not {step}"]
    if verb == "know" and rest.startswith("message"):
        guard.know_message(rest.split()[1])
        return []
    if verb == "know":
        guard.know_call(rest.partition(" ")[0], answered=rest.endswith("answered"))
        return []
    if verb == "close":
        closed: list[BaseEvent] = guard.close_all(**_HOW.get(rest, {}))
        return closed
    event = _event(verb, *rest.split("@"))
    if step.startswith("~"):
        guard.adopt(event)
    admitted: list[BaseEvent] = guard.admit(event)
    return admitted


def _event(verb: str, item: str = "", owner: str | None = None) -> BaseEvent:
    whose = {} if owner is None else {"subagentRunId": owner}
    fields: dict[str, Any]
    if verb in _PLAIN:
        fields = _PLAIN[verb]
    elif verb == "result":
        fields = {"type": "TOOL_CALL_RESULT", "toolCallId": item, "messageId": "m", "content": "x"}
    else:
        stem, key = _STEMS[verb[1:]]
        fields = {"type": f"{stem}_{_suffix(verb)}", key: item}
        more: dict[str, Any] = {"delta": "" if verb[0] == "0" else "x"} if verb[0] in ".0" else _MORE.get(fields["type"], {})
        fields |= more
        if verb == "+agent" and owner is not None:
            whose = {"parentSubagentRunId": owner}
    event: BaseEvent = _EVENT.validate_python({**fields, **whose})
    return event


def _suffix(verb: str) -> str:
    sign, kind = verb[0], verb[1:]
    start, end = _LATER.get(kind, ("START", "END"))
    return {"+": start, "-": end, "x": "ERROR", ".": "ARGS" if kind == "call" else "CONTENT", "0": "ARGS" if kind == "call" else "CONTENT"}[
        sign
    ]


def _word(event: BaseEvent) -> str:
    wire = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name, fields in _PLAIN.items():
        if wire["type"] == fields["type"]:
            return name
    if wire["type"] == "TOOL_CALL_RESULT":
        return f"result {wire['toolCallId']}{_owner(wire)}"
    kind, (stem, key) = max(((k, s) for k, s in _STEMS.items() if wire["type"].startswith(s[0])), key=lambda found: len(found[1][0]))
    sign = {"ST": "+", "EN": "-", "FI": "-", "CO": ".", "AR": ".", "ER": "x"}[wire["type"][len(stem) + 1 :][:2]]
    outcome = (wire.get("outcome") or {}).get("type", "")
    return f"{sign}{kind} {wire[key]}{_owner(wire) if kind != 'agent' else ''}{' ' + outcome if outcome else ''}"


def _owner(wire: dict[str, Any]) -> str:
    return f"@{wire['subagentRunId']}" if wire.get("subagentRunId") else ""
