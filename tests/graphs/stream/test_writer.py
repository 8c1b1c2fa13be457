"""What a node may write itself."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from graphs.stream import AGUI_WRITER_EVENT, AguiTransformer, write_agui_assistant_text, write_agui_event


def graph_of(node: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile()


@pytest.mark.parametrize(("text", "sent"), [("  hi\n", "hi"), ("", None), (" \n\t", None)])
async def test_assistant_text(text: str, sent: str | None) -> None:
    """START, CONTENT, END of one message, trimmed; nothing when nothing is left."""

    async def node(state: MessagesState) -> dict[str, Any]:
        write_agui_assistant_text(text)
        return {}

    run = await graph_of(node).astream_events({"messages": []}, version="v3", transformers=[AguiTransformer])
    events = [e async for e in run.extensions["message_events"]]
    assert [e.type.value for e in events] == (["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"] if sent else [])
    assert [e.delta for e in events if e.type.value == "TEXT_MESSAGE_CONTENT"] == ([sent] if sent else [])
    assert len({e.message_id for e in events}) <= 1


async def test_without_a_stream_it_is_silent() -> None:
    """Outside a graph, and in a plain `ainvoke`, nobody listens and nothing fails."""
    write_agui_assistant_text("hi")

    async def node(state: MessagesState) -> dict[str, Any]:
        write_agui_event({"type": "CUSTOM", "name": "n", "value": 1})
        return {}

    await graph_of(node).ainvoke({"messages": []})
    assert AGUI_WRITER_EVENT == "agui"
