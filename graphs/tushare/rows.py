"""The rows in a tool's text: market data servers wrap them in several ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
_WRAPPERS = ("data", "items", "records", "result")


def rows_of(text: str) -> list[Row]:
    """The rows of a result, as objects; none where the text holds none.

    Known shapes: a JSON list of objects; an object that holds such a list (`data`, `items`, `records`, `result`, also nested); Tushare's
    own `{fields: [...], items: [[...]]}`. An object that wraps nothing is a row itself.
    """
    try:
        parsed = json.loads(text)
    except ValueError:
        return []
    return [dict(row) for row in _unwrap(parsed) if isinstance(row, Mapping)]


def _unwrap(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return []
    if isinstance(fields := value.get("fields"), list) and isinstance(items := value.get("items"), list):
        return [dict(zip(fields, item, strict=False)) for item in items if isinstance(item, list)]
    wrapped = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), list | Mapping)), None)
    return [value] if wrapped is None else _unwrap(wrapped)
