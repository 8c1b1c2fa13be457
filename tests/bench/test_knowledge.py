"""The measurement of knowledge bases runs, on a small one; its results that are kept are of all sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.knowledge import EXTRAPOLATED, SIZES, extrapolated, in_s3, measured, table

pytestmark = pytest.mark.long


def test_a_small_base_is_measured() -> None:
    """Every column has a number; with vectors it is larger."""
    words, vectors = (measured(20, vectors=vectors) for vectors in (False, True))
    assert words.keys() == {"index", "bytes", "load", "search ms", "MB"}
    assert vectors["bytes"] > words["bytes"] > 0
    rows = {"20": words | in_s3(words)}
    assert "20" in table({"words": rows})


def test_extrapolation_goes_on_in_a_line() -> None:
    """Through the two largest sizes."""
    assert extrapolated({1: {"x": 9.0}, 10: {"x": 10.0}, 20: {"x": 20.0}}, 40) == {"x": 40.0}


def test_the_kept_results() -> None:
    """Are those of the command's own sizes."""
    kept = json.loads((Path(__file__).parent / "results" / "knowledge.json").read_text("utf-8"))
    assert set(kept["words"]) == set(kept["vectors"]) == {*map(str, SIZES), f"{EXTRAPOLATED}*"}
