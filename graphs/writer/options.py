"""What a client may set on writer, in `input.state`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from graphs.catalog import Options
from graphs.writing.options import read_edit
from graphs.writing.schemas import EditorEditCase


def read(state: Mapping[str, Any], forwarded: Mapping[str, Any]) -> Options:
    """`editCase`, else the older `writerMode`, else `document`; beside it what `graphs.writing.options` reads."""
    return Options({"editCase": _case(state), "writerMode": _mode(state), **read_edit(state)})


def _case(state: Mapping[str, Any]) -> EditorEditCase:
    case = state.get("editCase")
    if case in get_args(EditorEditCase):
        return cast(EditorEditCase, case)
    return _mode(state)


def _mode(state: Mapping[str, Any]) -> EditorEditCase:
    return "inline" if state.get("writerMode") == "inline" else "document"
