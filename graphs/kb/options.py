"""What a client may set on kb: `input.state.kbId`, cleaned as reactAgent's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.catalog import Options
from graphs.knowledge.base_id import clean_kb_id


def read(state: Mapping[str, Any], forwarded: Mapping[str, Any]) -> Options:
    kb_id = clean_kb_id(state.get("kbId"))
    return Options({"kbId": kb_id} if kb_id else {})
