"""LangGraph interrupts → AG-UI `Interrupt`s. The payload is whatever a node gave to `interrupt()`; nothing of it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import Interrupt
from langgraph.types import Interrupt as GraphInterrupt

from graphs.stream.history import wire_call_ids
from graphs.stream.jsonable import jsonable

REASON_CONFIRMATION = "confirmation"
REASON_DEFAULT = "input_required"
CANCEL_REASON = "用户取消"


def map_interrupt_payload(interrupt_id: str, payload: Any, response_schema: Mapping[str, Any] | None = None) -> Interrupt:
    """One interrupt as a client shows it.

    `reason`: the payload's own; else `confirmation` for an approval; else its `type`; else `input_required`. `metadata` is the payload's
    record plus `payload`, the original value. `responseSchema`: the payload's own object, else the node's `response_schema`.
    """
    value = jsonable(payload)
    record: dict[str, Any] = value if isinstance(value, dict) else {}
    schema = record.get("responseSchema")
    fields: dict[str, Any] = {
        "id": interrupt_id,
        "reason": _reason(record),
        "message": _text(record, "message"),
        "toolCallId": _text(record, "toolCallId"),
        "expiresAt": _text(record, "expiresAt"),
        "responseSchema": schema if isinstance(schema, dict) else jsonable(response_schema),
        "metadata": {**record, "payload": value},
    }
    return Interrupt.model_validate({k: v for k, v in fields.items() if v is not None})


def map_interrupts(interrupts: Iterable[GraphInterrupt], messages: Iterable[Any] = ()) -> list[Interrupt]:
    """All of them in order, each id once: nested graphs report an interrupt at every level.

    `messages`: the thread's. A question about a call whose id the model has used before names the newest call, as the wire does (`c1~2`).
    """
    unique = {i.id: i for i in interrupts}
    shown = [map_interrupt_payload(i.id, i.value, _schema(i)) for i in unique.values()]
    newest = {call.raw: call.wire for call in wire_call_ids(messages)}
    return [
        i if i.tool_call_id is None else i.model_copy(update={"tool_call_id": newest.get(i.tool_call_id, i.tool_call_id)}) for i in shown
    ]


def refusal(payload: Any) -> dict[str, Any]:
    """What a node gets when its question was cancelled: an approval is not given; any other kind is a typed cancellation."""
    if isinstance(payload, Mapping) and payload.get("type") == "approval":
        return {"approved": False, "reason": CANCEL_REASON}
    return {"cancelled": True, "reason": CANCEL_REASON}


def _schema(interrupt: GraphInterrupt) -> Mapping[str, Any] | None:
    schema = interrupt.response_schema
    return schema if isinstance(schema, Mapping) else None


def _reason(record: Mapping[str, Any]) -> str:
    reason, kind = record.get("reason"), record.get("type")
    if isinstance(reason, str) and reason.strip():
        return reason.strip()
    if kind == "approval":
        return REASON_CONFIRMATION
    return kind.strip() if isinstance(kind, str) and kind.strip() else REASON_DEFAULT


def _text(record: Mapping[str, Any], key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) else None
