"""rewrite and retrieve: from the question to the chunks that may answer it, or to the word that none does."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from graphs.kb import prompts
from graphs.kb.state import KbState, sources_of
from graphs.knowledge import Hit, Knowledge, KnowledgeSource
from graphs.knowledge.library import RECALL
from graphs.messages import last_request
from graphs.models import at_temperature

MIN_SCORE = 0.3
"""Of the best chunk, for an answer. `graphs.knowledge.Hit` says what a score is."""
CLARIFY_SCORE = 0.15
"""From here up to `MIN_SCORE` something comes near: kb asks what is meant."""
MOST_QUERIES = 2
HISTORY = 6
"""Messages that a rewriting sees."""

_log = logging.getLogger(__name__)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s+|[\"“”]")


class Node(Protocol):
    """A node of the graph; LangGraph passes the parameters by these names."""

    async def __call__(self, state: KbState, config: RunnableConfig) -> dict[str, Any]: ...


def rewriting(model: BaseChatModel) -> Node:
    """The node that begins a turn: the last one's fields are emptied, and the question is put so that it can be searched for."""
    silent = at_temperature(model, 0).with_config(tags=[TAG_NOSTREAM])

    async def rewrite(state: KbState, config: RunnableConfig) -> dict[str, Any]:
        question = last_request(state["messages"])
        queries = [question] if question else []
        if question:
            try:
                said = await silent.ainvoke([SystemMessage(prompts.REWRITE_PROMPT), *_recent(state["messages"])], config)
                queries += _lines(said.text)
            except Exception:  # noqa: BLE001 - whatever the provider raises: the question itself can be searched for
                _log.warning("the question was not rewritten", exc_info=True)
        return {
            "rewrittenQueries": list(dict.fromkeys(queries))[:MOST_QUERIES],
            "retrievedChunks": [],
            "routeRejected": False,
            "citationRetries": 0,
            "correction": "",
            "draftId": "",
        }

    return rewrite


def _recent(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [message for message in messages if message.type in ("human", "ai")][-HISTORY:]


def _lines(text: str) -> list[str]:
    return [line for raw in text.splitlines() if (line := _BULLET.sub("", raw).strip())]


def retrieving(source: KnowledgeSource) -> Node:
    """The node that searches. It ends the turn itself, with a message, when there is nothing to answer from."""

    async def retrieve(state: KbState, config: RunnableConfig) -> dict[str, Any]:
        kb_id = config.get("configurable", {}).get("kbId") or None
        hits = await best_hits(await source.current(kb_id), state["rewrittenQueries"], kb_id)
        sources = sources_of(hits)
        question = last_request(state["messages"])
        if not hits:
            return _ends(prompts.not_found(question))
        if _top(hits) >= MIN_SCORE:
            return {"retrievedChunks": sources}
        return _ends(prompts.clarify(question, sources) if _top(hits) >= CLARIFY_SCORE else prompts.rejected(question))

    return retrieve


def _ends(text: str) -> dict[str, Any]:
    return {"messages": [AIMessage(text)], "routeRejected": True}


async def best_hits(knowledge: Knowledge, queries: Sequence[str], kb_id: str | None) -> list[Hit]:
    """Of the first query with a chunk that is good enough; else of the best one, when doubling the recall did not help either."""
    found: list[Hit] = []
    for recall in (RECALL, 2 * RECALL):
        for query in queries:
            hits = await knowledge.retrieve(query, kb_id, recall=recall)
            if _top(hits) >= MIN_SCORE:
                return hits
            found = max(found, hits, key=_top)
    return found


def _top(hits: Sequence[Hit]) -> float:
    return max((hit.score for hit in hits), default=-1.0)
