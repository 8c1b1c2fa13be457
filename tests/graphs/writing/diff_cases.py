"""Large texts for the diff. `python -m tests.graphs.writing.diff_cases` times ours beside difflib, and beside diff-match-patch where it is
installed (`uv run --with diff-match-patch …`); the last result is in results/diff_cases.txt."""

from __future__ import annotations

import difflib
import random
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from graphs.writing.hunks import compute_hunks


class Case(NamedTuple):
    """`everyday` cases are fast enough for every run of the tests. `peers`: the others get there within minutes."""

    texts: Callable[[], tuple[str, str]]
    everyday: bool = True
    peers: bool = True


def _two_kinds(lines: int) -> tuple[str, str]:
    rnd = random.Random(2)
    old, new = ("".join(rnd.choices(["\n", "a\n"], k=lines)) for _ in range(2))
    return old, new


def _prose() -> tuple[str, str]:
    rnd = random.Random(3)
    lines = ["".join(rnd.choices("春眠不觉晓处闻啼鸟 abc", k=rnd.randrange(60))) + "\n" * rnd.choice([1, 2]) for _ in range(6_300)]
    return "".join(lines), "".join(line if rnd.random() > 0.3 else "改" + line for line in lines)


def _equal_lines() -> tuple[str, str]:
    return "x\n" * 60_000 + "y\n" + "x\n" * 40_000, "x\n" * 70_000 + "z\n" + "x\n" * 20_000


def _all_new() -> tuple[str, str]:
    return "".join(f"{i:04x}\n" for i in range(40_000)), "".join(f"{i:04x}!\n" for i in range(33_000))


CASES = {
    "edited prose, 200,000 characters": Case(_prose),
    "equal lines, 200,000 characters": Case(_equal_lines, peers=False),
    "all lines new, 200,000 characters": Case(_all_new, peers=False),
    "two kinds of line, 4,000 characters": Case(lambda: _two_kinds(2_600), everyday=False),
    "two kinds of line, 8,000 characters": Case(lambda: _two_kinds(5_200), everyday=False),
    "two kinds of line, 200,000 characters": Case(lambda: _two_kinds(133_000), everyday=False, peers=False),
}


def _with_difflib(old: str, new: str) -> None:
    difflib.SequenceMatcher(None, old.splitlines(True), new.splitlines(True), autojunk=False).get_opcodes()


def _with_dmp(old: str, new: str) -> None:
    differ = import_module("diff_match_patch").diff_match_patch()
    differ.Diff_Timeout = 0
    one, two, lines = differ.diff_linesToChars(old, new)
    differ.diff_charsToLines(differ.diff_main(one, two, False), lines)


def _seconds(diff: Callable[[str, str], object], old: str, new: str) -> str:
    start = time.perf_counter()
    diff(old, new)
    return f"{time.perf_counter() - start:.3f} s"


def main() -> None:
    peers = {"difflib": _with_difflib} | ({"diff-match-patch": _with_dmp} if find_spec("diff_match_patch") else {})
    print(f"{'':40}{'ours':>10}" + "".join(f"{name:>20}" for name in peers), flush=True)
    for name, case in CASES.items():
        texts = case.texts()
        theirs = [_seconds(diff, *texts) if case.peers else "not waited for" for diff in peers.values()]
        print(f"{name:40}{_seconds(compute_hunks, *texts):>10}" + "".join(f"{seconds:>20}" for seconds in theirs), flush=True)


if __name__ == "__main__":
    main()
