"""LangGraph's own suite for checkpointers. It calls a saver FULL when it detects nothing, so the counts are part of the claim."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from functions.store.checkpoints import DynamoDBSaver
from tests.support.dynamodb import Dynamo

BASE = {"put": 17, "put_writes": 10, "get_tuple": 10, "list": 16, "delete_thread": 5}
EXTENDED = {"delete_for_runs": 7, "copy_thread": 8, "prune": 8}


async def _counts(dynamo: Dynamo, expected: dict[str, int], **options: Any) -> tuple[dict[str, int], list[str]]:
    @checkpointer_test(name="DynamoDBSaver")
    async def make() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield DynamoDBSaver(dynamo.checkpoints, client=dynamo.client, **options)

    report = await validate(make, capabilities=set(expected))
    results = {name: result for name, result in report.results.items() if name in expected}
    assert report.passed_all_base() == (set(expected) >= set(BASE))
    return {name: result.tests_passed for name, result in results.items()}, [text for r in results.values() for text in r.failures]


async def test_conformance_on_moto(dynamo: Dynamo) -> None:
    """Every base and extended capability passes, each with all of its tests."""
    assert await _counts(dynamo, BASE | EXTENDED) == (BASE | EXTENDED, [])


@pytest.mark.parametrize("capability", ["get_tuple"])
async def test_conformance_with_ttl(dynamo: Dynamo, capability: str) -> None:
    """A TTL changes nothing for what is alive."""
    assert await _counts(dynamo, {capability: BASE[capability]}, ttl_seconds=600) == ({capability: BASE[capability]}, [])


async def test_conformance_on_dynalite(dynalite: Dynamo) -> None:
    """The base capabilities pass on an emulator with the exact limits of DynamoDB too."""
    assert await _counts(dynalite, BASE) == (BASE, [])
