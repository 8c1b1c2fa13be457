"""The id of a knowledge base as a client gives it."""

from __future__ import annotations

from typing import Any

KB_ID_CHARS = 128


def clean_kb_id(value: Any) -> str | None:
    """Trimmed, at most 128 characters; None for anything but text and for none."""
    return (value.strip()[:KB_ID_CHARS] or None) if isinstance(value, str) else None
