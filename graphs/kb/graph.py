"""START → rewrite → retrieve → (rejected? END : generate) → (retry? generate : END)."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.kb.answer import generating, wants_retry
from graphs.kb.retrieval import retrieving, rewriting
from graphs.kb.state import KbState
from graphs.knowledge import bundled


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """Configurable: `kbId`, the knowledge base that is asked. Raises `ValueError` without a model."""
    if deps.model is None:
        raise ValueError("kb needs a chat model")
    graph = StateGraph(KbState)
    graph.add_node("rewrite", rewriting(deps.model))
    graph.add_node("retrieve", retrieving(deps.knowledge or bundled()))
    graph.add_node("generate", generating(deps.model))
    graph.add_edge(START, "rewrite")
    graph.add_edge("rewrite", "retrieve")
    graph.add_conditional_edges("retrieve", lambda state: END if state["routeRejected"] else "generate", ["generate", END])
    graph.add_conditional_edges("generate", lambda state: "generate" if wants_retry(state) else END, ["generate", END])
    return graph
