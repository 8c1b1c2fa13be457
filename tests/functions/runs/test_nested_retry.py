"""A nested graph's node that fails after its answer: the question counts as answered there too."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from functions.store.checkpoints import DynamoDBSaver
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, resolved, single
from tests.support.dynamodb import Dynamo


@pytest.fixture(params=["in memory", "in the table"])
def saver(request: pytest.FixtureRequest) -> BaseCheckpointSaver[Any]:
    if request.param == "in memory":
        return InMemorySaver()
    dynamo: Dynamo = request.getfixturevalue("dynamo")
    return DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)


@pytest.mark.parametrize("how", ["the same answer", "an empty run"])
async def test_it_fails_between_two_questions(how: str, saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """The retry does not answer the second one, and another answer to the first is too late."""
    heard: list[Any] = []
    failures = [TimeoutError()]

    async def node(state: MessagesState) -> Json:
        first = interrupt("one?")
        if failures:
            raise failures.pop()
        heard.append((first, interrupt("two?")))
        return {"messages": [AIMessage("done", id="d")]}

    talk = thread(single(single(node).compile()), saver=saver)
    (one,) = (await talk.say("go")).interrupts
    assert (await talk.answer(resolved(one["id"], 1))).outcome == "UPSTREAM_TIMEOUT"
    assert (await talk.answer(resolved(one["id"], "another"))).outcome == "ALREADY_ANSWERED"
    asked = await (talk.answer(resolved(one["id"], 1)) if how == "the same answer" else talk.run())
    (two,) = asked.interrupts
    assert (two["metadata"]["payload"], heard) == ("two?", [])
    assert (await talk.answer(resolved(two["id"], 2))).outcome == "success"
    assert heard == [(1, 2)]
