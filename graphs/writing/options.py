"""What a client may set on a writing agent, in `input.state`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.writing.prompts import Wish


def read_edit(state: Mapping[str, Any]) -> dict[str, Any]:
    """`documentBaseline` (as it is; without one the `originalMarkdown`), `polishInstruction`, `focuses`. Empty texts are omitted, and
    focuses that are no list."""
    baseline = state.get("documentBaseline") or state.get("originalMarkdown")
    texts = {"documentBaseline": baseline, "polishInstruction": state.get("polishInstruction")}
    focuses = state.get("focuses")
    return {name: text for name, text in texts.items() if isinstance(text, str) and text} | (
        {"focuses": focuses} if isinstance(focuses, list) else {}
    )


def wish_of(configurable: Mapping[str, Any]) -> Wish:
    """Instruction and focus texts; a focus is a text, or an object with one."""
    focuses = (focus.get("text") if isinstance(focus, Mapping) else focus for focus in configurable.get("focuses", ()))
    texts = [focus.strip() for focus in focuses if isinstance(focus, str) and focus.strip()]
    return Wish(configurable.get("polishInstruction", "").strip(), texts)
