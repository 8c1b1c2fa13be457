"""The peer that is measured beside us. Needs the `bench` group; nothing else here does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from ag_ui_langgraph import LangGraphAgent

from tests.bench.subjects import Server


def _server(*, raw_events: bool) -> Server:
    async def serve(graph: Any, input: RunAgentInput) -> AsyncIterator[bytes]:
        encoder = EventEncoder()
        async for event in LangGraphAgent(name="bench", graph=graph, emit_raw_events=raw_events).run(input):
            yield encoder.encode(event).encode()

    return serve


PEERS: dict[str, Server] = {"ag-ui-langgraph": _server(raw_events=True), "ag-ui-langgraph lean": _server(raw_events=False)}
