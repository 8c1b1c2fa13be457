"""What a model did not mean to change is not a change."""

from __future__ import annotations

import pytest

from graphs.writing.hunks import compute_hunks
from graphs.writing.original_form import in_form_of

CASES = [
    ("a\nb", "A\nb", "A\nb"),
    ("\n\n  a\nb \n\t\n", "A\nb", "\n\n  A\nb \n\t\n"),
    ("a\r\nb\r\n", "a\nB", "a\r\nB\r\n"),
    ("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n"),
    ("a\r\nb\nc", "a\nB\nc", "a\r\nB\nc"),
    ("a\r\nb\nc\r\n\r\nd", "a\nB\nc\n\nd", "a\r\nB\nc\r\n\r\nd"),
    ("a\nb\nc\r\nd", "a\r\nc\r\nd\r\ne", "a\nc\r\nd\r\ne"),
    ("a\nb\r\nc", "a\nx\ny\nz\nc\nd", "a\nx\r\ny\r\nz\r\nc\r\nd"),
    ("a\r\n", "A\nB", "A\r\nB\r\n"),
    ("a\n", "```markdown\nA\n```", "A\n"),
    ("a\n", "```\nA\n```\ntext\n```\nB\n```", "```\nA\n```\ntext\n```\nB\n```\n"),
    ("a\n", "```markdown\nA\n```py\nx\n```\nB\n```", "A\n```py\nx\n```\nB\n"),
    ("a\n", "```md\nA\n```\nx\n```\nB\n```", "A\n```\nx\n```\nB\n"),
    ("a\n", "```\nA\n```py\nx\n```\n```", "A\n```py\nx\n```\n"),
    ("a\n", "````\nA\n```\nx\n```\n````", "A\n```\nx\n```\n"),
    ("a\n", "```md\nA\n```py\nx\n```", "```md\nA\n```py\nx\n```\n"),
    ("a\n", "```\nA ```x``` b```", "A ```x``` b\n"),
    ("a\n", "````markdown\nA\n```\nx\n```\n````", "A\n```\nx\n```\n"),
    ("a\n", "```markdown\r\nA\r\n```", "A\n"),
    ("a\n", "```py\nx\n```\nB\n```js\ny\n```", "```py\nx\n```\nB\n```js\ny\n```\n"),
    ("a\n", "```markdown\nx\n```\nB\n```js\ny\n```", "```markdown\nx\n```\nB\n```js\ny\n```\n"),
    ("```\na\n```\n", "```\nA\n```", "```\nA\n```\n"),
    ("a\n", "<document>\nA\n</document>", "A\n"),
    ("<document>a</document>", "<document>A</document>", "<document>A</document>"),
    ("🎉 a\n", "🎉 A", "🎉 A\n"),
    (" a ", "", ""),
    (" a ", "```\n```", ""),
]


@pytest.mark.parametrize(("original", "said", "text"), CASES)
def test_in_form_of(original: str, said: str, text: str) -> None:
    """Outer whitespace and line ends come from the original; a fence or tag around the answer goes; nothing stays nothing."""
    assert in_form_of(original, said) == text


@pytest.mark.parametrize("original", ["\n\na\n b\n \n", "a\r\n\r\nb\r\n", "  🎉\n", "x", "a\r\nb\nc\r\n\nd"])
def test_an_unchanged_answer_changes_nothing(original: str) -> None:
    """Trimmed, with line feeds only, as models send it back."""
    assert compute_hunks(original, in_form_of(original, original.strip().replace("\r\n", "\n"))) == []
