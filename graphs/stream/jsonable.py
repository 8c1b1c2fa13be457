"""One documented rule that turns any Python value into JSON, so that a foreign state can never cut a stream short."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

MAX_DEPTH = 64
"""Nesting beyond this is cut to `repr`: it also ends a value that contains itself."""


def jsonable(value: Any, _depth: int = 0) -> Any:
    """Any value → what `json.dumps(allow_nan=False)` accepts.

    Rule: JSON stays; pydantic models and dataclasses → dict; bytes → base64 text; sets and tuples → list; dates → ISO 8601;
    Decimal, UUID → text; Enum → its value; NaN and infinities → null; a lone surrogate → U+FFFD; dict keys → text; else `repr`.
    """
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if _depth >= MAX_DEPTH:
        return _text(repr(kind))
    if kind is dict:
        return {_key(k): jsonable(v, _depth + 1) for k, v in value.items()}
    if kind is list or kind is tuple:
        return [jsonable(v, _depth + 1) for v in value]
    return _other(value, _depth)


def _other(value: Any, depth: int) -> Any:
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return jsonable(convert(value), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return jsonable({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, depth + 1)
    return _text(repr(value))


def _model(value: BaseModel) -> Any:
    # mode="python": json mode raises on a field that pydantic cannot serialise; the walk above handles every leaf
    return value.model_dump(mode="python", by_alias=True)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _key(value: Any) -> str:
    return _text(value if isinstance(value, str) else str(value))


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (BaseModel, _model),
    (Enum, lambda v: v.value),
    ((bytes, bytearray, memoryview), lambda v: base64.b64encode(bytes(v)).decode("ascii")),
    ((set, frozenset), lambda v: sorted(v, key=repr)),
    ((datetime, date, time), lambda v: v.isoformat()),
    ((Decimal, UUID), str),
    (Mapping, dict),
    (str, str.__str__),
    (int, int),
    (float, float),
    ((list, tuple), list),
)
