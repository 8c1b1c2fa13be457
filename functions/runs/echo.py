"""The input as RUN_STARTED echoes it: what is new, in the protocol's own fields. A client warns about material it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import BaseModel

from graphs.stream import jsonable


def echoed(input: RunAgentInput, messages: Sequence[Any]) -> RunAgentInput:
    """The input with these messages only, without unknown fields; free values (state, forwardedProps, payloads) made JSON."""
    return RunAgentInput.model_validate(_known(input.model_copy(update={"messages": list(messages)})))


def _known(value: Any) -> Any:
    """A model as its declared fields, by wire name; optional fields without a value are left out."""
    if isinstance(value, BaseModel):
        present = {f.alias or name: getattr(value, name) for name, f in type(value).model_fields.items()}
        return {wire: _known(field) for wire, field in present.items() if field is not None}
    if isinstance(value, (list, tuple)):
        return [_known(item) for item in value]
    return jsonable(value)
