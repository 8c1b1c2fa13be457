"""One run of a graph as an AG-UI stream. `stream_graph_agui_events` serves any compiled graph."""

from functions.runs.orchestrator import AgentRun, stream_graph_agui_events

__all__ = ["AgentRun", "stream_graph_agui_events"]
