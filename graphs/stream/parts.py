"""Content of user messages: AG-UI parts (text, image, audio, video, document) ⇄ LangChain's standard content blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import BaseModel

_TO_BLOCK = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
_TO_PART = {block: part for part, block in _TO_BLOCK.items()}
_SOURCES = {"data": "base64", "url": "url", "file": "file_id"}
_SOURCE_KINDS = {field: kind for kind, field in _SOURCES.items()}
NO_TYPE = "application/octet-stream"
"""The media type of bytes that were stored without one: a `data` source must name one."""


def content_from_agui(content: Any) -> str | list[dict[str, Any]]:
    """What a client sent as content → what a HumanMessage holds. Parts that no model block exists for are left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    blocks = [_block(part.model_dump(by_alias=True) if isinstance(part, BaseModel) else part) for part in content]
    return [block for block in blocks if block is not None]


def content_to_agui(message: HumanMessage) -> str | list[dict[str, Any]]:
    """The reverse: text stays text; content with media becomes parts, so that a reload shows what was sent."""
    if isinstance(message.content, str):
        return message.content
    parts = [part_from_block(block) for block in message.content_blocks]
    shown = [part for part in parts if part is not None]
    if all(part["type"] == "text" for part in shown):
        return "".join(part["text"] for part in shown)
    return shown


def _block(part: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": part.get("text", "")}
    source = part.get("source")
    if kind not in _TO_BLOCK or not isinstance(source, Mapping) or source.get("type") not in _SOURCES:
        return None
    block = {"type": _TO_BLOCK[kind], _SOURCES[source["type"]]: source["value"]}
    if source.get("mimeType"):
        block["mime_type"] = source["mimeType"]
    return block


def part_from_block(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A text or media block as a content part; None for others, and for media without a source."""
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": block["text"]}
    field = next((f for f in _SOURCE_KINDS if block.get(f)), None)
    if kind not in _TO_PART or field is None:
        return None
    source = {"type": _SOURCE_KINDS[field], "value": block[field]}
    mime_type = block.get("mime_type") or (NO_TYPE if field == "base64" else None)
    return {"type": _TO_PART[kind], "source": source | ({"mimeType": mime_type} if mime_type else {})}


def text_of(content: Any) -> str:
    """The text in a client's content: a string, or its text parts joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "".join(str(getattr(part, "text", "")) for part in content if getattr(part, "type", None) == "text")
