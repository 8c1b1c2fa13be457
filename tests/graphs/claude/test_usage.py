"""Tokens of the SDK's runs, counted as LangChain counts."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.claude.usage import tokens


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({}, (0, 0, 0, 0, 0)),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4, 7, 0, 0)),
        ({"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 20}, (33, 4, 37, 10, 20)),
        ({"input_tokens": None, "output_tokens": None, "cache_read_input_tokens": None}, (0, 0, 0, 0, 0)),
    ],
)
def test_tokens(usage: dict[str, Any], counted: tuple[int, ...]) -> None:
    """Cached input is input too."""
    given = tokens(usage)
    details = given["input_token_details"]
    assert (given["input_tokens"], given["output_tokens"], given["total_tokens"]) == counted[:3]
    assert (details["cache_read"], details["cache_creation"]) == counted[3:]
