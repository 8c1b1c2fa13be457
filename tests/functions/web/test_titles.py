"""Titles of conversations over DynamoDB: made once, renamed, never taken back from the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

import functions.parts
from functions.settings import Settings
from functions.web import create_app
from graphs.models import ScriptedModel
from graphs.scripted import ScriptedChatModel, Turn
from tests.functions.web.test_app import body, client_of
from tests.support.dynamodb import Dynamo

Serving = Callable[[BaseChatModel], AbstractAsyncContextManager[httpx.AsyncClient]]
BROKEN = ConnectionError("host db-7.internal")


@pytest.fixture
def serving(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> Serving:
    """A client of reactAgent with a model of one's own, under a thread table of this test's."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)

    def serve(model: BaseChatModel) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        monkeypatch.setattr(functions.parts, "make_model", lambda *_, **__: model)
        prefix = dynamo.tables["threads"].removesuffix("threads")
        return client_of(create_app("reactAgent", Settings(auth="none", table_prefix=prefix, model="scripted:model")))

    return serve


async def say(client: httpx.AsyncClient, text: str | None, run: str = "r", **more: Any) -> None:
    assert (await client.post("/", json=body(text, run=run, **more))).status_code == 200


async def title(client: httpx.AsyncClient) -> tuple[str, str]:
    row = (await client.get("/threads/t")).json()
    return row["title"], row["titledBy"]


async def test_the_first_exchange_names_it_once(serving: Serving) -> None:
    """The model is asked after the first answer, with question and answer, and not again."""
    model = ScriptedModel(turns=["Fifteen days.", "Annual leave", "You are welcome."])
    async with serving(model) as client:
        await say(client, "How many days of leave?")
        assert await title(client) == ("Annual leave", "model")
        await say(client, "thanks", "r2")
        assert await title(client) == ("Annual leave", "model")
        listed = (await client.get("/threads")).json()
    assert "How many days of leave?" in model.calls[1][1].text
    assert "Fifteen days." in model.calls[1][1].text
    assert [(row["threadId"], row["title"]) for row in listed["threads"]] == [("t", "Annual leave")]


@pytest.mark.parametrize("said", [BROKEN, " "])
async def test_a_model_that_fails_leaves_the_rules_title(serving: Serving, said: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The run has ended well; the failure is in the log, and the model is not asked again."""
    async with serving(ScriptedModel(turns=["Fifteen.", said, "Yes."])) as client:
        await say(client, "## How many days?")
        await say(client, "really?", "r2")
        assert await title(client) == ("How many days?", "model")
    assert ("the model gave it none" in caplog.text) == (said is BROKEN)


async def test_a_run_without_an_answer_names_nothing(serving: Serving) -> None:
    """A failed run leaves the rule's title; the next one that ends with an answer is the first exchange."""
    async with serving(ScriptedModel(turns=[BROKEN, "Fifteen.", "Annual leave"])) as client:
        await say(client, "How many days?")
        assert await title(client) == ("How many days?", "rule")
        await say(client, None)
        assert await title(client) == ("Annual leave", "model")


async def test_the_users_title_stays(serving: Serving) -> None:
    """Renamed before the first answer's title would be made: the model is not even asked."""
    async with serving(ScriptedModel(turns=[BROKEN, "Fifteen.", "And on."])) as client:
        await say(client, "How many days?")
        renamed = await client.patch("/threads/t", json={"title": " My leave "})
        assert (renamed.status_code, renamed.json()["title"]) == (200, "My leave")
        await say(client, None)
        await say(client, "more", "r2")
        assert await title(client) == ("My leave", "user")


class Slow(ScriptedChatModel):
    """Answers, and takes its time over titles: until `named` is set."""

    asked: Any
    named: Any
    titles: int = 0

    def turn(self, messages: list[BaseMessage], tools: Sequence[str]) -> Turn:
        if tools:
            return "Fifteen."
        self.titles += 1
        self.asked.set()
        return "By the model"

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        done = await super()._agenerate(messages, *args, **kwargs)
        if not kwargs.get("tools"):
            await self.named.wait()
        return done


async def test_a_user_who_renames_while_the_model_thinks_wins(serving: Serving) -> None:
    """The model's title comes too late."""
    model = Slow(asked=asyncio.Event(), named=asyncio.Event())
    async with serving(model) as client:
        run = asyncio.create_task(say(client, "How many days?"))
        await model.asked.wait()
        await client.patch("/threads/t", json={"title": "Mine"})
        model.named.set()
        await run
        assert await title(client) == ("Mine", "user")


async def test_two_runs_that_end_at_once_ask_the_model_once(serving: Serving) -> None:
    """The right to name it is claimed first."""
    model = Slow(asked=asyncio.Event(), named=asyncio.Event())
    async with serving(model) as client:
        first = asyncio.create_task(say(client, "How many days?"))
        await model.asked.wait()
        await say(client, "and hours?", "r2")
        model.named.set()
        await first
        assert (await title(client), model.titles) == (("By the model", "model"), 1)


RENAMES: Sequence[tuple[str, Any, int]] = [
    ("t", {"title": "x" * 200}, 200),
    ("t", {"title": "年假 🏖"}, 200),
    ("t", {"title": "x" * 201}, 422),
    ("t", {"title": " "}, 422),
    ("t", {"title": ""}, 422),
    ("t", {"title": 5}, 422),
    ("t", {"title": None}, 422),
    ("t", {}, 422),
    ("t", ["title"], 422),
    ("t", {"title": "two\nlines"}, 422),
    ("t", {"title": "\u0000"}, 422),
    ("other", {"title": "x"}, 404),
    ("a%5Cb", {"title": "x"}, 422),
]
READS = [("/threads/none", 404), ("/threads?cursor=x", 422), ("/threads?limit=0", 422), ("/threads?limit=1", 200)]


async def test_renaming_and_reading(serving: Serving) -> None:
    """What is no title is refused, and the one before stays. Unknown threads, broken cursors and limits out of range say so."""
    async with serving(ScriptedModel(turns=["Fifteen.", "Annual leave"])) as client:
        await say(client, "How many days?")
        shown = "Annual leave"
        for thread, sent, status in RENAMES:
            assert (await client.patch(f"/threads/{thread}", json=sent)).status_code == status, (thread, sent)
            shown = sent["title"] if status == 200 else shown
            assert (await title(client))[0] == shown
        assert [(path, (await client.get(path)).status_code) for path, _ in READS] == READS
