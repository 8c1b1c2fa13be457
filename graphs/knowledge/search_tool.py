"""`kb_search`: the tool with which an agent reads the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool

from graphs.knowledge.chunking import Chunk
from graphs.knowledge.library import KnowledgeSource

MAX_CHARS = 12_000
CUT_MARKER = "\n…（内容过长，已截断）"
NOT_FOUND = "知识库中没有找到相关内容。"

KB_PROMPT = """知识库：
- 回答知识类问题之前，先用 kb_search 检索。
- 引用时原样使用工具给出的 Markdown 链接，不要写单独的 [n]。
- 没有检索到内容时如实转告，并请用户补充或换个说法。
- 与知识库明显无关的问题可以直接回答。"""


def kb_search_tool(knowledge: KnowledgeSource) -> BaseTool:
    """The tool over that knowledge. Which base it reads comes from `configurable.kbId`, never from the model."""

    @tool
    async def kb_search(query: str, config: RunnableConfig) -> str:
        """Search the knowledge base. Returns fragments, each with the Markdown link to cite it with."""
        kb_id = config.get("configurable", {}).get("kbId") or None
        found = await (await knowledge.current(kb_id)).retrieve(query, kb_id)
        return describe_fragments([hit.chunk for hit in found])

    return kb_search


def describe_fragments(chunks: Sequence[Chunk]) -> str:
    """The count, then each fragment under its link; cut at `MAX_CHARS` plus a marker."""
    if not chunks:
        return NOT_FOUND
    fragments = (f"片段 {i}：{chunk.citation}\n{_one_block(chunk.text)}" for i, chunk in enumerate(chunks, 1))
    text = "\n\n".join([f"找到 {len(chunks)} 个片段。", *fragments])
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + CUT_MARKER


def _one_block(text: str) -> str:
    """Without blank lines: those separate the fragments."""
    return "\n".join(line for line in text.splitlines() if line.strip())
