"""Two thousand broken requests in CI; `python -m tests.fuzz` sends a hundred thousand."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from functions.settings import Settings
from functions.web import create_app
from tests.fuzz.attack import attack


def app() -> Any:
    return create_app("dev", Settings(auth="none", offline_delay_ms=0), checkpointer=InMemorySaver())


@pytest.mark.timeout(300)
async def test_broken_requests_break_nothing() -> None:
    """No 5xx, no hang, no word of the inside, legal streams that end once, and threads that go on."""
    report = await attack(app(), 2_000, seed=7)
    assert report.faults == []
    assert len(report.said) > 8, "they reach different places"


PLANTED: dict[str, tuple[int, bytes, bytes]] = {
    "500": (500, b"application/json", b'{"error": {}}'),
    "says 'Traceback'": (400, b"application/json", b"Traceback (most recent call last)"),
    "ends with": (200, b"text/event-stream", b'data: {"type":"RUN_STARTED"}\n\n'),
}


@pytest.mark.parametrize(("found", "answer"), PLANTED.items(), ids=PLANTED)
async def test_a_planted_fault_is_found(found: str, answer: tuple[int, bytes, bytes]) -> None:
    """An app that answers so for one request of many."""
    status, kind, body = answer

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": body})

    report = await attack(broken, 20, seed=1)
    assert any(found in fault.replace("b'", "'") for fault in report.faults)
