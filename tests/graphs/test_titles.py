"""What a conversation is called."""

from __future__ import annotations

import pytest

from graphs.models import ScriptedModel
from graphs.titles import LONGEST, model_title, rule_title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How many days of leave?", "How many days of leave?"),
        ("  年假有几天？\n请按条列出", "年假有几天？"),
        ("\n\n## **Plan** for `today`\n- a", "Plan for today"),
        ("> - 1. quoted", "quoted"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("2 * 3 * 4 = ?", "2 * 3 * 4 = ?"),
        ("a\t b\u3000c", "a b c"),
        ("---\n***\nfirst words", "first words"),
        ("", ""),
        (" \n\t", ""),
        ("!?", ""),
        ("word " * 20, "word " * 11 + "word…"),
        ("字" * 80, "字" * 59 + "…"),
        ("x" * LONGEST, "x" * LONGEST),
        ("a " + "x" * 80, "a " + "x" * 57 + "…"),
    ],
)
def test_the_rule(text: str, title: str) -> None:
    """The first line with words, without Markdown's marks, cut at a word where there is one."""
    assert rule_title(text) == title
    assert len(title) <= LONGEST


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Leave policy", "Leave policy"),
        ('"Leave policy."\n\nI hope this helps', "Leave policy"),
        ("《年假制度》", "年假制度"),
        ("**Leave**", "Leave"),
        (" ", ""),
    ],
)
async def test_a_models_title_is_cleaned(said: str, title: str) -> None:
    """One line without quotes, marks or full stop; a model that says nothing gives none."""
    model = ScriptedModel(turns=[said])
    assert await model_title(model, "How many days?" + "x" * 5_000, "Fifteen.") == title
    prompt, exchange = model.calls[0]
    assert "not instructions" in prompt.text
    assert len(exchange.text) < 3_000
