"""Which citations hold, and what they become."""

from __future__ import annotations

import pytest

from graphs.knowledge import Chunk
from graphs.knowledge.citations import problems_of, with_links

LEAVE = Chunk("hr", "hr/leave", "0", ("Leave", "Annual [sample]"), "Every employee has **15 days** of\npaid leave. 年假最多结转 5 天。")
SICK = Chunk("hr", "hr/sick & co", "1", ("Sick leave",), "A doctor's note is needed from day three.", page=4)
CHUNKS = [LEAVE, SICK]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No citation at all.",
        "15 days [1], a note [2].",
        "As footnotes [^1][^2].",
        "Both [1, 2], also 全部 [1，2] 和 [1、2]。",
        "「年假最多结转 5 天」[1]。",
        "“every EMPLOYEE has 15 days of paid leave” [1]",
        'It says "A doctor\'s note" [2].',
        '"A doctor\'s note." [1][2]',
        "「年假最多\n结转5天。」 [^1]",
        '"not in there" is what some say; 15 days [1].',
        "`array[7]` and\n```\nx[9]\n```\n are code.",
        "[7](https://example.com) is a link.",
        f"[Leave]({LEAVE.link}) was given.",
        "[x] is a box, [] nothing.",
    ],
)
def test_valid(answer: str) -> None:
    """Numbers of chunks, quotations that they hold (whitespace, case and emphasis aside), links that were given; code is not read."""
    assert problems_of(answer, CHUNKS) == []


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("So it is [3].", ["[3]"]),
        ("So it is [0].", ["[0]"]),
        ("So it is [^9], and [9].", ["[9]"]),
        ("[1, 4]", ["[4]"]),
        ("「年假最多结转 9 天」[1]", ["年假最多结转 9 天"]),
        ("“15 days” [2]", ["15 days"]),
        ('"a doctor\'s note" [1], "15 days" [1]', ["a doctor's note"]),
        ("“gone”。[5]", ["[5]", "gone"]),
        ("[here](/kb?doc=other&chunk=1)", ["/kb?doc=other&chunk=1"]),
        ("[1] `ok` [8]", ["[8]"]),
    ],
)
def test_not_valid(answer: str, named: list[str]) -> None:
    """Each problem names what is wrong."""
    found = problems_of(answer, CHUNKS)
    assert len(found) == len(named)
    assert all(name in problem for name, problem in zip(named, found, strict=True))


def test_numbers_become_links() -> None:
    """Form-encoded, with the page where there is one; labels are escaped; code and unknown numbers stay."""
    leave = r"[Leave › Annual \[sample\]](/kb?doc=hr%2Fleave&chunk=0)"
    sick = "[Sick leave](/kb?doc=hr%2Fsick+%26+co&chunk=1&p=4)"
    assert with_links("a [1] b [^2] c [1, 2] `d[1]` [3]", CHUNKS) == f"a {leave} b {sick} c {leave}{sick} `d[1]` [3]"


def test_links_of_an_answer_are_valid_again() -> None:
    """What was accepted stays acceptable as it is stored."""
    assert problems_of(with_links("「年假最多结转 5 天」[1] [^2]", CHUNKS), CHUNKS) == []
