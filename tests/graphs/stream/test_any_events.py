"""Whatever LangGraph streams, in whatever order, and however it ends: the client gets a legal stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.possible_events import tell
from tests.support.recording import Recording
from tests.support.replayed_graph import streamed
from tests.support.streams import Violation, check_with_clients, violations

NIGHTLY = "nightly"
EXAMPLES = settings.get_profile(NIGHTLY).max_examples if settings.get_current_profile_name() == NIGHTLY else 300
PLAYED = 60


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    logging.disable(logging.CRITICAL)  # a refused event is a line in the log, and most of these are
    with asyncio.Runner() as runner:
        yield runner
    logging.disable(logging.NOTSET)


def faults(rec: Recording, found: list[Violation]) -> list[Violation]:
    """All of them; but where a node ended the run itself, no snapshot of ours says which calls and messages the state took."""
    ours = rec.events[-2]["type"] == "MESSAGES_SNAPSHOT"
    return [violation for violation in found if ours or violation.rule not in ("args-json", "streamed-id-kept")]


@pytest.mark.timeout(300 if EXAMPLES == 300 else 7200)
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_legal_stream(loop: asyncio.Runner, rng: Random) -> None:
    """Our rules and ag-ui-validate find nothing, in the stream as the orchestrator ends it."""
    rec = loop.run(streamed(tell(rng)))
    event(f"ends with {rec.last['type']}")
    assert faults(rec, violations(rec)) == []


@pytest.mark.node
def test_both_clients_take_them(loop: asyncio.Runner, tmp_path: Path) -> None:
    """A sample of them, without a warning."""
    played: dict[str, Recording] = {}
    for seed in range(PLAYED):
        rec = loop.run(streamed(tell(Random(seed))))
        played[f"seed-{seed}.jsonl"] = rec
        rec.write(tmp_path / f"seed-{seed}.jsonl")
    found = {name: faults(played[name], broken) for name, broken in check_with_clients(tmp_path).items()}
    assert {name: broken for name, broken in found.items() if broken} == {}
