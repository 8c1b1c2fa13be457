"""What a client may set on reactAgent, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.catalog import AGENTS, Options


def read(state: dict[str, Any], forwarded: Any = None) -> Options:
    return AGENTS["reactAgent"].read_options(state, {} if forwarded is None else {"reactAgent": forwarded})


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        (0, 1),
        (999, 200),
        (7, 7),
        ("x", 50),
        (7.9, 7),
        (-3, 1),
        (None, 50),
        (True, 50),
        (float("nan"), 50),
        (float("inf"), 50),
        ("7", 50),
        ([], 50),
    ],
)
def test_max_steps_is_truncated_and_clamped(given: Any, steps: int) -> None:
    """A whole number in 1..200, else the default of 50; it is the step limit."""
    assert read({"maxSteps": given}).recursion_limit == steps
    assert read({}, {"maxSteps": given}).recursion_limit == steps
    assert read({"maxToolRounds": given}).recursion_limit == steps


@pytest.mark.parametrize(
    ("forwarded", "state", "expected"),
    [
        ({"userPrompt": "f"}, {"userPrompt": "s"}, {"userPrompt": "f"}),
        ({"userPrompt": 5, "kbId": "k"}, {"userPrompt": "s", "kbId": "t"}, {"userPrompt": "s", "kbId": "k"}),
        ({"userPrompt": ""}, {"userPrompt": "s"}, {}),
        ({"kbId": "   "}, {"kbId": " t "}, {"kbId": "t"}),
        ("broken", {"kbId": "t"}, {"kbId": "t"}),
        (None, {"userPrompt": "x" * 40_000}, {"userPrompt": "x" * 32_000}),
        (None, {"kbId": "k" * 200}, {"kbId": "k" * 128}),
        (None, {"kbId": {"a": 1}, "userPrompt": None}, {}),
    ],
)
def test_each_field_falls_back_by_itself(forwarded: Any, state: dict[str, Any], expected: dict[str, Any]) -> None:
    """One bad field does not drop the others: forwardedProps, then the state, then nothing."""
    assert read(state, forwarded).configurable == expected


def test_one_bad_field_does_not_hide_a_good_step_limit() -> None:
    """The old name counts where the new one is unusable."""
    assert read({"maxSteps": 9}, {"maxSteps": "x", "userPrompt": 1}).recursion_limit == 9
    assert read({}, {"maxSteps": "x", "maxToolRounds": 4}).recursion_limit == 4
