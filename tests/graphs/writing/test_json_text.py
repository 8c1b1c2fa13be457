"""JSON in a model's words."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.writing.json_text import extract_json

CASES: list[tuple[str, Any]] = [
    ('{"a": 1}', {"a": 1}),
    ("[1, 2]", [1, 2]),
    ('```json\n{"a": [1]}\n```', {"a": [1]}),
    ('```\n["x"]\n```', ["x"]),
    ('Here it is [as asked]:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
    ('好的：{"summaries": ["改", "删"]} 以上。', {"summaries": ["改", "删"]}),
    ('{"a": "}"} {"b": 2}', {"a": "}"}),
    ('{"a": "\\"}{"}', {"a": '"}{'}),
    ('{"a": "```"}', {"a": "```"}),
    ('```json\n{"code": "```py\\nx\\n```"}\n```', {"code": "```py\nx\n```"}),
    ('{"summaries": ["a fence: ```json", "[1] and so on"]}', {"summaries": ["a fence: ```json", "[1] and so on"]}),
    ('```json\n{"summaries": ["```json {}```", "[1]"]}\n```', {"summaries": ["```json {}```", "[1]"]}),
    ('As asked [in full: ```json\n{"a": 1}\n```]', {"a": 1}),
    ('Fields {"a", "b"}: ```json {"a": 1}```', {"a": 1}),
    ('{"a": 1} is what you have; new:\n```json\n{"a": 2}\n```', {"a": 2}),
    ('{"a": 1} and then ```nothing```', {"a": 1}),
    ('{"a": {"b": [{}]}}', {"a": {"b": [{}]}}),
    ("{'a': 1}", None),
    ('{"a": 1', None),
    ('{"a": 1]', None),
    ('{"a": "never closed}', None),
    ("no brackets", None),
    ("", None),
    ("```json\n```", None),
    ("[" * 100_000 + "]" * 100_000, None),
]


@pytest.mark.parametrize(("text", "found"), CASES, ids=range(len(CASES)))
def test_extract_json(text: str, found: Any) -> None:
    """An optional fence; from the first bracket to its matching close, aware of strings; what is invalid is none."""
    assert extract_json(text) == found
