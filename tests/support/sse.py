"""Reading SSE strictly: what both AG-UI clients need and browsers alone would forgive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MAX_FRAME_BYTES = 8 * 1024 * 1024
ALLOWED_FIELDS = ("data: ", "id: ", "event: ", "retry: ", ":")


def framing_faults(raw: bytes) -> Iterator[str]:
    """What is wrong with the framing: LF only, every frame ends in a blank line, one JSON object a frame, no NaN, no frame over 8 MB."""
    if b"\r" in raw:
        yield "a carriage return"
    if raw and not raw.endswith(b"\n\n"):
        yield f"the last frame is not ended: {raw[-40:]!r}"
    for frame in raw.split(b"\n\n"):
        if len(frame) > MAX_FRAME_BYTES:
            yield f"a frame of {len(frame)} bytes"
        yield from _frame_faults(frame)


def _frame_faults(frame: bytes) -> Iterator[str]:
    try:
        lines = frame.decode("utf-8").split("\n")
        payload(lines)
    except ValueError as error:
        yield f"{error}: {frame[:80]!r}"
        return
    for line in lines:
        if line and not line.startswith(ALLOWED_FIELDS):
            yield f"not an SSE line: {line[:80]!r}"


def payload(lines: list[str]) -> dict[str, Any] | None:
    """The event of one frame, None for a comment. Raises ValueError for anything but one JSON object in one `data:` line."""
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    if not data:
        return None
    if len(data) > 1:
        raise ValueError("two data lines in a frame")
    event = json.loads(data[0], parse_constant=_refuse)
    if not isinstance(event, dict):
        raise ValueError("not a JSON object")
    return event


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def read_sse(raw: bytes) -> list[dict[str, Any]]:
    """The events of a whole body. Raises ValueError where the framing is wrong."""
    faults = list(framing_faults(raw))
    if faults:
        raise ValueError("; ".join(faults))
    frames = (payload(frame.split("\n")) for frame in raw.decode("utf-8").split("\n\n"))
    return [event for event in frames if event is not None]
