"""A note for each change."""

from __future__ import annotations

import json

import pytest

from graphs.completion import CompletionFailed, Prompt
from graphs.writing.hunks import Hunk
from graphs.writing.prompts import SUMMARIES_PROMPT
from graphs.writing.summaries import ASKED_HUNKS, SHOWN_CHARS, summarize

HUNKS = [Hunk(0, "a\n", "A\n"), Hunk(4, "c\n", ""), Hunk(8, "", "e")]

ANSWERS: dict[str, tuple[str, list[str]]] = {
    "by index": ('{"summaries": ["一", "二", "三"]}', ["一", "二", "三"]),
    "missing ones are empty": ('{"summaries": ["一"]}', ["一", "", ""]),
    "more than asked": ('{"summaries": ["一", "二", "三", "四"]}', ["一", "二", "三"]),
    "the list alone, in a fence": ('```json\n["一", "二", "三"]\n```', ["一", "二", "三"]),
    "not texts": ('{"summaries": [1, null, "三"]}', ["", "", "三"]),
    "at most 20 characters, one line": (json.dumps({"summaries": ["长" * 30, " a\n b "]}), ["长" * 20, "a b", ""]),
    "another form": ('{"notes": ["一"]}', ["", "", ""]),
    "no list": ('{"summaries": "一"}', ["", "", ""]),
    "no JSON": ("一、二、三", ["", "", ""]),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_answers(case: str) -> None:
    """Missing → "", unparsable → all "", never more than 20 characters."""
    answer, notes = ANSWERS[case]
    asked: list[Prompt] = []

    async def complete(prompt: Prompt) -> str:
        asked.append(prompt)
        return answer

    assert await summarize(HUNKS, complete) == notes
    [prompt] = asked
    assert (prompt.system, prompt.temperature, prompt.mode) == (SUMMARIES_PROMPT, 0, "silent")
    assert [change["index"] for change in json.loads(prompt.user)] == [0, 1, 2]


@pytest.mark.parametrize("error", [CompletionFailed("silent", 500, "x"), TimeoutError(), ConnectionError(), ValueError()])
async def test_a_failed_call_costs_the_notes_alone(error: Exception) -> None:
    """All "", and the run goes on."""

    async def complete(prompt: Prompt) -> str:
        raise error

    assert await summarize(HUNKS, complete) == ["", "", ""]


async def test_no_hunks_no_call() -> None:
    """Nothing to describe."""

    async def complete(prompt: Prompt) -> str:
        raise AssertionError("asked")

    assert await summarize([], complete) == []


async def test_the_question_stays_short() -> None:
    """The first hundred changes are asked about, each side shortened."""
    asked: list[Prompt] = []

    async def complete(prompt: Prompt) -> str:
        asked.append(prompt)
        return "[]"

    assert len(await summarize([Hunk(i, "x" * 1000, "") for i in range(150)], complete)) == 150
    shown = json.loads(asked[0].user)
    assert (len(shown), len(shown[0]["originalText"])) == (ASKED_HUNKS, SHOWN_CHARS)
