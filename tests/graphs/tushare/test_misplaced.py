"""Tool calls that stand in the text become tool calls; everything else is left as it is."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from graphs.tushare.misplaced import fix_misplaced_tool_calls

SAID = {"type": "text", "text": "查一下"}


def part(args: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": "", "name": "daily", "args": args, "id": "d1", **more}


ARGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "JSON": ('{"ts_code": "000001.SZ"}', {"ts_code": "000001.SZ"}),
    "an object": ({"ts_code": "x"}, {"ts_code": "x"}),
    "nothing": (None, {}),
    "an empty text": (" ", {}),
    "cut JSON": ('{"ts_code": "0000', {"raw": '{"ts_code": "0000'}),
    "JSON that is no object": ("[1]", {"raw": "[1]"}),
    "a number": (3, {"raw": 3}),
}


@pytest.mark.parametrize("case", ARGS)
def test_arguments(case: str) -> None:
    """Parsed; what is no JSON object is kept as `raw`."""
    given, wanted = ARGS[case]
    fixed = fix_misplaced_tool_calls(AIMessage([SAID, part(given)], id="m1"))
    assert isinstance(fixed, AIMessage)
    assert fixed.tool_calls == [{"name": "daily", "args": wanted, "id": "d1", "type": "tool_call"}]
    assert (fixed.content, fixed.id) == ([SAID], "m1")


def test_every_call_gets_an_id_of_its_own() -> None:
    """Two calls without id in one message."""
    fixed = fix_misplaced_tool_calls(AIMessage([part("{}", id=None), part("{}", id="")]))
    assert isinstance(fixed, AIMessage)
    ids = [call["id"] for call in fixed.tool_calls]
    assert len({*ids}) == 2
    assert all(ids)


LEFT: dict[str, BaseMessage] = {
    "a text": AIMessage("查一下"),
    "text parts": AIMessage([SAID]),
    "strings as parts": AIMessage(["a", "b"]),
    "a name alone": AIMessage([{"type": "text", "text": "", "name": "daily"}]),
    "arguments alone": AIMessage([{"type": "text", "text": "", "args": "{}"}]),
    "a blank name": AIMessage([part("{}", name=" ")]),
    "another kind of part": AIMessage([part("{}", type="image")]),
    "tool calls already": AIMessage([part("{}")], tool_calls=[{"name": "x", "args": {}, "id": "c", "type": "tool_call"}]),
    "the user's": HumanMessage([part("{}")]),
}


@pytest.mark.parametrize("case", LEFT)
def test_left_alone(case: str) -> None:
    """The same object."""
    assert fix_misplaced_tool_calls(LEFT[case]) is LEFT[case]
