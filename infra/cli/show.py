"""A run in the terminal: text as it is written, thinking dimmed, tool calls with their arguments growing and their results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import typer

from infra.cli.agui import Event

RESULT_LIMIT = 2_000
"""Characters of a tool's result that are shown."""
# what a model writes must not move the cursor, change the title or clear the screen
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """The text without control characters other than line feed and tab."""
    return _CONTROL.sub("", text)


class Screen:
    """Shows events one by one. What several open items write in turns is told apart by a heading at each change."""

    def __init__(self) -> None:
        self._item = ""
        self._calls: dict[str, str] = {}
        self._handlers: dict[str, Callable[[Event], None]] = {
            "TEXT_MESSAGE_CONTENT": self._text,
            "REASONING_MESSAGE_CONTENT": self._thinking,
            "TOOL_CALL_START": self._call,
            "TOOL_CALL_ARGS": self._arguments,
            "TOOL_CALL_RESULT": self._result,
            "CUSTOM": self._custom,
            "RUN_ERROR": self._error,
        }

    def show(self, event: Event) -> None:
        if handler := self._handlers.get(event["type"]):
            handler(event)

    def end(self) -> None:
        """Ends the line that is being written."""
        self._turn_to("")

    def _text(self, event: Event) -> None:
        self._turn_to(event["messageId"])
        _write(event["delta"])

    def _thinking(self, event: Event) -> None:
        self._turn_to(event["messageId"])
        _write(event["delta"], dim=True)

    def _call(self, event: Event) -> None:
        self._calls[event["toolCallId"]] = event["toolCallName"]
        self._turn_to_call(event["toolCallId"])

    def _arguments(self, event: Event) -> None:
        self._turn_to_call(event["toolCallId"])
        _write(event["delta"], fg="cyan")

    def _result(self, event: Event) -> None:
        self._turn_to("")
        content = event["content"] if isinstance(event["content"], str) else json.dumps(event["content"], ensure_ascii=False)
        shown = content if len(content) <= RESULT_LIMIT else f"{content[:RESULT_LIMIT]} … ({len(content)} characters)"
        _write(f"← {self._calls.get(event['toolCallId'], 'tool')} ", fg="cyan")
        _write(f"{shown}\n", dim=True)

    def _custom(self, event: Event) -> None:
        self._turn_to("")
        _write(f"· {event['name']} {json.dumps(event.get('value'), ensure_ascii=False)}\n", dim=True)

    def _error(self, event: Event) -> None:
        self._turn_to("")
        typer.secho(clean(f"{event.get('code') or 'ERROR'}: {event['message']}"), fg="red", err=True)

    def _turn_to_call(self, call: str) -> None:
        if self._item != call:
            self._turn_to(call)
            _write(f"→ {self._calls.get(call, 'tool')} ", fg="cyan")

    def _turn_to(self, item: str) -> None:
        if self._item and self._item != item:
            typer.echo()
        self._item = item


def _write(text: str, **style: Any) -> None:
    typer.secho(clean(text), nl=False, **style)
