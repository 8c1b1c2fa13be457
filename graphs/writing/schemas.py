"""What the writing agents say to a client, in wire names."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

EditorChatIntent = Literal["ask", "write"]
EditorEditCase = Literal["inline", "document"]

CHANGE_SUMMARIES_EVENT = "writer_change_summaries"
"""Name of the CUSTOM event whose value is a `WriterChangeSummaries`."""


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class WriterChangeSummary(_Wire):
    """One change: `original_text` at `hint_from` (UTF-16 offset in the baseline) becomes `new_text`; `summary` may be empty."""

    hint_from: int
    original_text: str
    new_text: str
    summary: str


class WriterChangeSummaries(_Wire):
    """All changes, in order, the whole new text, and the text that they belong to, exactly as it was sent."""

    changes: list[WriterChangeSummary]
    polished: str | None = None
    baseline: str | None = None
