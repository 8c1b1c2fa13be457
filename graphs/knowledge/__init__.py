"""A small knowledge base that needs no server: Markdown in, cited fragments out."""

from graphs.knowledge.chunking import Chunk, chunk_markdown
from graphs.knowledge.embedding import Embedder, HashingEmbeddings, hashing_embedder
from graphs.knowledge.errors import KnowledgeUnavailable
from graphs.knowledge.library import Document, Hit, Knowledge, KnowledgeSource, bundled
from graphs.knowledge.search_tool import KB_PROMPT, kb_search_tool

__all__ = [
    "KB_PROMPT",
    "Chunk",
    "Document",
    "Embedder",
    "HashingEmbeddings",
    "Hit",
    "Knowledge",
    "KnowledgeSource",
    "KnowledgeUnavailable",
    "bundled",
    "chunk_markdown",
    "hashing_embedder",
    "kb_search_tool",
]
