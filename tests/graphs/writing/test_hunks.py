"""The changes between two texts: the vectors of the contract, and what must hold for any two texts."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.writing.hunks import Hunk, common_lines, compute_hunks, hunk_key, utf16_length
from tests.graphs.writing.diff_cases import CASES

VECTORS: list[tuple[str, str, list[tuple[int, str, str]]]] = [
    ("a\nb\nc\n", "a\nB\nc\n", [(2, "b\n", "B\n")]),
    ("a\nb\nc", "a\nb\nc\nd", [(4, "c", "c\nd")]),
    ("a\nb\nc", "a\nb", [(2, "b\nc", "b")]),
    ("", "x", [(0, "", "x")]),
    ("x", "", [(0, "x", "")]),
    ("a\n\nb", "a\n\nb\n", [(3, "b", "b\n")]),
    ("a\nb\nc\nd\ne", "A\nb\nC\nd\nE", [(0, "a\n", "A\n"), (4, "c\n", "C\n"), (8, "e", "E")]),
    ("", "", []),
    ("same\n", "same\n", []),
    ("\n\na\n\n", "\n\nb\n\n", [(2, "a\n", "b\n")]),
    ("a\r\nb\r\n", "a\r\nB\r\n", [(3, "b\r\n", "B\r\n")]),
    ("a\r\nb\r\n", "a\nb\r\n", [(0, "a\r\n", "a\n")]),
    ("🎉\n你好\nx", "🎉\n您好\nx", [(3, "你好\n", "您好\n")]),
    ("👩‍👩‍👧\nb", "👩‍👩‍👧\nB", [(9, "b", "B")]),
    ("a\u2028b\x0bc\x85d", "a\u2028b\x0bc\x85e", [(0, "a\u2028b\x0bc\x85d", "a\u2028b\x0bc\x85e")]),
    ("x\nx\nx\n", "x\nx\n", [(4, "x\n", "")]),
    ("b\n", "a\nb\nc\n", [(0, "", "a\n"), (2, "", "c\n")]),
]


@pytest.mark.parametrize(("old", "new", "hunks"), VECTORS)
def test_vectors(old: str, new: str, hunks: list[tuple[int, str, str]]) -> None:
    """Lines with their newline are symbols, neighbouring changes are one hunk, offsets count UTF-16 units."""
    assert compute_hunks(old, new) == hunks


def applied(old: str, hunks: list[Hunk]) -> str:
    """As a client does: in UTF-16 units, from the back."""
    units = old.encode("utf-16-le", "surrogatepass")
    for hunk in reversed(hunks):
        start, end = 2 * hunk.from_, 2 * (hunk.from_ + utf16_length(hunk.original_text))
        assert units[start:end] == hunk.original_text.encode("utf-16-le", "surrogatepass")
        units = units[:start] + hunk.new_text.encode("utf-16-le", "surrogatepass") + units[end:]
    return units.decode("utf-16-le", "surrogatepass")


LINES = st.lists(st.sampled_from(["\n", "a\n", "b\n", "你好\n", "🎉\n", "\r\n", "a"]), max_size=14).map("".join)


@settings(max_examples=150, deadline=None)
@given(LINES | st.text(max_size=40), LINES | st.text(max_size=40))
def test_all_hunks_applied_make_the_new_text(old: str, new: str) -> None:
    """Applied to the old text at their offsets they give the new one; they stand in order and never touch; the same call says the same."""
    hunks = compute_hunks(old, new)
    assert applied(old, hunks) == new
    assert all(a.from_ + utf16_length(a.original_text) < b.from_ for a, b in pairwise(hunks))
    assert all(hunk.original_text != hunk.new_text for hunk in hunks)
    assert compute_hunks(old, new) == hunks


def longest(old: str, new: str) -> int:
    """Length of the longest common subsequence, by the table of the textbook."""
    above = [0] * (len(new) + 1)
    for a in old:
        row = [0]
        for j, b in enumerate(new):
            row.append(above[j] + 1 if a == b else max(above[j + 1], row[j]))
        above = row
    return above[-1]


@settings(max_examples=100, deadline=None)
@given(st.text("abc", max_size=30), st.text("abcd", max_size=30))
def test_no_line_changes_that_could_stay(old: str, new: str) -> None:
    """What is kept is a longest common subsequence, in order."""
    pairs = common_lines(old, new)
    assert len(pairs) == longest(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


def test_blocks_of_rows_meet() -> None:
    """A text of many rows, whose table is walked back in blocks."""
    rnd = random.Random(7)
    old, new = ("".join(rnd.choices("xyz", k=400)) for _ in range(2))
    assert len(common_lines(old, new)) == longest(old, new)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.everyday])
def test_large_documents(name: str) -> None:
    """200,000 characters: equal lines without end, all lines new, edited prose. (The worst case is in results/diff_cases.txt.)"""
    old, new = CASES[name].texts()
    assert len(old) >= 190_000
    assert applied(old, compute_hunks(old, new)) == new


def test_hunk_key() -> None:
    """`"<from>:<originalText>"`, as the client builds it."""
    assert hunk_key(12, "a:b\n") == "12:a:b\n"
    assert hunk_key(0, "") == "0:"
