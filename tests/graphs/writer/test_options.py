"""What a client may set on writer, and what both writing agents take."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.catalog import AGENTS

CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "document"),
    ({"editCase": "inline"}, "inline"),
    ({"editCase": "document"}, "document"),
    ({"editCase": "document", "writerMode": "inline"}, "document"),
    ({"writerMode": "inline"}, "inline"),
    ({"writerMode": "else"}, "document"),
    ({"editCase": "", "writerMode": "inline"}, "inline"),
    ({"editCase": 7}, "document"),
    ({"editCase": ["inline"]}, "document"),
    ({"editCase": {"a": 1}, "writerMode": ["inline"]}, "document"),
]


@pytest.mark.parametrize(("state", "case"), CASES)
def test_edit_case(state: dict[str, Any], case: str) -> None:
    """`editCase` if it is one, else inline when `writerMode` is, else the document."""
    assert AGENTS["writer"].read_options(state, {}).configurable["editCase"] == case


TEXTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"documentBaseline": " a\r\n"}, {"documentBaseline": " a\r\n"}),
    ({"documentBaseline": ""}, {}),
    ({"documentBaseline": 7}, {}),
    ({"originalMarkdown": "b"}, {"documentBaseline": "b"}),
    ({"originalMarkdown": "b", "documentBaseline": "a"}, {"documentBaseline": "a"}),
    ({"polishInstruction": "short"}, {"polishInstruction": "short"}),
    ({"polishInstruction": ""}, {}),
    ({"polishInstruction": None}, {}),
    ({"focuses": ["a"]}, {"focuses": ["a"]}),
    ({"focuses": []}, {"focuses": []}),
    ({"focuses": "a"}, {}),
    ({"other": 1, "kbId": "x"}, {}),
]


@pytest.mark.parametrize("name", ["writer", "editorChat"])
@pytest.mark.parametrize(("state", "expected"), TEXTS)
def test_texts(name: str, state: dict[str, Any], expected: dict[str, Any]) -> None:
    """Empty strings are omitted, a document is not trimmed, focuses only if a list."""
    found = AGENTS[name].read_options(state, {}).configurable
    assert {key: value for key, value in found.items() if key not in ("editCase", "writerMode")} == expected
