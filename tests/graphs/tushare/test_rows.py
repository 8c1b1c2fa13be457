"""The shapes in which market data servers send rows."""

from __future__ import annotations

from typing import Any

import pytest

from graphs.tushare.rows import rows_of

ROW = {"ts_code": "000001.SZ"}
SHAPES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "a list": ('[{"ts_code": "000001.SZ"}]', [ROW]),
    "in data": ('{"sample": true, "data": [{"ts_code": "000001.SZ"}]}', [ROW]),
    "in items": ('{"items": [{"ts_code": "000001.SZ"}]}', [ROW]),
    "nested": ('{"code": 0, "data": {"records": [{"ts_code": "000001.SZ"}]}}', [ROW]),
    "Tushare's own": ('{"data": {"fields": ["ts_code"], "items": [["000001.SZ"]]}}', [ROW]),
    "one row": ('{"ts_code": "000001.SZ"}', [ROW]),
    "none": ('{"data": []}', []),
    "nothing": ("", []),
    "a sentence": ("抱歉，没有权限", []),
    "a number": ("3", []),
    "other things in the list": ('[1, null, {"ts_code": "000001.SZ"}]', [ROW]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case: str) -> None:
    """Objects, whatever they are wrapped in; text without rows has none."""
    text, rows = SHAPES[case]
    assert rows_of(text) == rows
