"""The cost of a token: projection, guard and SSE encoding beside the raw engine, a bare transformer and a peer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tests.bench.report import Check, Measured
from tests.bench.rounds import compare, per_token, ratio
from tests.bench.subjects import BARE, FLOOR, OURS, Subject, answering_graph

BARE_LIMIT, DRAIN_LIMIT = 1.25, 1.4


async def measure_stream(subjects: Mapping[str, Subject], tokens: int, rounds: int) -> Measured:
    """A row per way: medians, and its ratio to the floor and to the bare transformer."""
    samples = await compare(subjects, partial(answering_graph, tokens), rounds)
    vs_drain, vs_bare = ({name: ratio(taken, samples[base]) for name, taken in samples.items()} for base in (FLOOR, BARE))
    rows = [
        {"way": name, **per_token(taken, tokens), "vs_drain": vs_drain[name], "vs_bare": vs_bare[name]} for name, taken in samples.items()
    ]
    checks = [
        Check("a token, beside a bare transformer without a guard", vs_bare[OURS], BARE_LIMIT, "×"),
        Check("a token, beside the bare v3 drain", vs_drain[OURS], DRAIN_LIMIT, "×"),
    ]
    return Measured("stream", f"One token of an answer of {tokens}, graph → SSE frame (CPU)", rows, checks, "us_per_token")
