"""What the model reads of a search."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.runnables import RunnableConfig

from graphs.knowledge import Document, Knowledge, bundled, kb_search_tool
from graphs.knowledge.search_tool import CUT_MARKER, MAX_CHARS, NOT_FOUND


async def search(knowledge: Knowledge, query: str, **configurable: Any) -> str:
    return str(await kb_search_tool(knowledge).ainvoke({"query": query}, RunnableConfig(configurable=configurable)))


async def test_fragments_come_with_their_links() -> None:
    """The count, then one Markdown link before each fragment; no bare [n]."""
    text = await search(bundled(), "年假有几天")
    count = len(bundled().search("年假有几天"))
    assert text.startswith(f"找到 {count} 个片段。\n\n片段 1：[请假制度（示例） › 年假](/kb?doc=leave-policy-zh&chunk=1)\n")
    assert len(re.findall(r"\]\(/kb\?doc=", text)) == count
    assert not re.search(r"\[\d+\](?!\()", text)


async def test_the_base_is_configured_never_asked_for() -> None:
    """The tool's only argument is the query."""
    assert list(kb_search_tool(bundled()).args) == ["query"]
    assert "overview" in await search(bundled(), "leave 中断", kbId="product")
    assert await search(bundled(), "年假", kbId="nobody") == NOT_FOUND
    assert await search(bundled(), "年假", kbId="") != NOT_FOUND


async def test_a_long_result_is_cut_with_a_marker() -> None:
    """12,000 characters, then it says that more was there."""
    knowledge = Knowledge(Document("kb", "d" * 4000 + str(i), "word " * 100) for i in range(5))
    text = await search(knowledge, "word")
    assert text.endswith(CUT_MARKER)
    assert len(text) == MAX_CHARS + len(CUT_MARKER)
