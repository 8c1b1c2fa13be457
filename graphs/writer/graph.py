"""START → writeEdit → END."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.messages import DeltaMessagesState
from graphs.model_completion import over_model
from graphs.writing.write_edit import write_edit


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """Configurable: see `graphs.writing.write_edit`. Raises `ValueError` without a model."""
    if deps.model is None:
        raise ValueError("writer needs a chat model")
    graph = StateGraph(DeltaMessagesState)
    graph.add_node("writeEdit", write_edit(deps.model, deps.complete or over_model(deps.model)))
    graph.add_edge(START, "writeEdit")
    graph.add_edge("writeEdit", END)
    return graph
