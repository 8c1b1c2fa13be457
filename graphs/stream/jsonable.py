"""One documented rule that turns any Python value into JSON, so that a foreign state can never cut a stream short."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

MAX_DEPTH = 64
"""Nesting beyond this is cut to the name of its type."""
MAX_INT_BITS = 1024
"""A wider integer becomes text in base 16: Python refuses to write one of more than 4300 digits in base 10."""


def jsonable(value: Any, _inside: tuple[int, ...] = ()) -> Any:
    """Any value → what `json.dumps(allow_nan=False)` accepts, and what encodes as UTF-8. Never raises.

    Rule: JSON stays; pydantic models and dataclasses → dict; bytes → base64 text; sets and tuples → list; dates → ISO 8601;
    Decimal, UUID → text; Enum → its value; NaN and infinities → null; a lone surrogate → U+FFFD; dict keys → text; else `repr`.
    A value that contains itself, or that raises when it is read, is replaced there by the name of its type, as `<Name>`.
    """
    kind = type(value)
    if kind is str:
        return utf8(value)
    if kind is bool or value is None:
        return value
    if kind is int:
        return value if value.bit_length() <= MAX_INT_BITS else hex(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if len(_inside) >= MAX_DEPTH or id(value) in _inside:
        return _name(value)
    inside = (*_inside, id(value))
    if kind is dict:
        return {_key(k): jsonable(v, inside) for k, v in value.items()}
    if kind is list or kind is tuple:
        return [jsonable(v, inside) for v in value]
    return _other(value, inside)


def args_text(args: Any) -> str:
    """A call's arguments as AG-UI carries them: a string stays, anything else is compact JSON, nothing is `{}`."""
    if isinstance(args, str):
        return args
    return json.dumps(jsonable(args), ensure_ascii=False, separators=(",", ":")) if args else "{}"


def result_text(output: Any) -> str:
    """What a tool returned, as text: a string stays, anything else is JSON."""
    return utf8(output) if isinstance(output, str) else json.dumps(jsonable(output), ensure_ascii=False)


def utf8(text: str) -> str:
    """The text with its surrogates joined, or replaced where they stand alone (a provider cut an emoji in two)."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _other(value: Any, inside: tuple[int, ...]) -> Any:
    try:
        for types, convert in _CONVERSIONS:
            if isinstance(value, types):
                return jsonable(convert(value), inside)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return jsonable({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, inside)
        return utf8(repr(value))
    except Exception:  # noqa: BLE001 - a foreign object may raise anything from __repr__, an iterator or a serialiser
        return _name(value)


def _model(value: BaseModel) -> Any:
    # mode="python": json mode raises on a field that pydantic cannot serialise; the walk above handles every leaf. A field that does
    # not hold what its annotation says is no reason for a warning here.
    return value.model_dump(mode="python", by_alias=True, warnings=False)


def _name(value: Any) -> str:
    return utf8(f"<{type(value).__name__}>")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return utf8(str.__str__(key))
    try:
        return utf8(str(key))
    except Exception:  # noqa: BLE001 - as for values
        return _name(key)


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
