"""What a client may set on editorChat, in `input.state`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from graphs.catalog import Options
from graphs.writing.options import read_edit
from graphs.writing.schemas import EditorChatIntent


def read(state: Mapping[str, Any], forwarded: Mapping[str, Any]) -> Options:
    """`forceIntent`, if it is `ask` or `write`; the case is always `document`; beside it what `graphs.writing.options` reads."""
    force = state.get("forceIntent")
    return Options({"editCase": "document", **({"forceIntent": force} if force in get_args(EditorChatIntent) else {}), **read_edit(state)})
