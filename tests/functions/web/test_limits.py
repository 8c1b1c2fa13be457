"""What one caller may run: at once, in a minute, and tokens in a day; over all agents, and without a word about anybody else."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from functions.runs.lease import acquire
from functions.settings import Settings
from functions.store import allowances
from functions.store.allowances import LimitReached, Limits
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client
from functions.store.tables import create_tables
from functions.web import create_app
from functions.web.limits import LimitExceeded
from functions.web.served import Served
from tests.functions.web.test_app import body, client_of
from tests.functions.web.test_background import ASYNC, Context
from tests.support.sse import read_sse


@pytest.fixture
def store(moto_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Fresh tables behind the environment that a function finds them by. Returns their prefix."""
    prefix = f"{uuid.uuid4().hex}-"
    given = {"ENDPOINT_URL": moto_endpoint, "REGION": "us-east-1", "ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
    for name, value in given.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    create_tables(dynamodb_client(), prefix)
    return prefix


@dataclass
class Clock:
    """Of the allowances alone."""

    at: float = 1_800_000_030.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(allowances, "now", found)
    return found


Callers = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def caller(store: str) -> Callers:
    """`async with caller("me", agent="dev", runs_a_minute=2) as client`: a function with these limits, called by that identity."""

    def client(name: str = "me", *, agent: str = "dev", **settings: Any) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        app = create_app(agent, Settings(auth="iam", table_prefix=store, **({"offline_delay_ms": 0} | settings)))
        event = {"requestContext": {"authorizer": {"iam": {"userArn": f"arn:aws:iam::1:user/{name}"}}}}
        return client_of(app, **{"aws.event": event, "aws.context": Context()})

    return client


def refusal(answer: httpx.Response) -> tuple[int, str, str, int]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["limit"], int(answer.headers["retry-after"])


def ended(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(read_sse(answer.content)[-1]["type"])


async def test_runs_a_minute(caller: Callers, clock: Clock) -> None:
    """Over all agents; the third is told when the next minute begins, and another caller is not asked to wait."""
    async with caller(runs_a_minute=2) as dev, caller(agent="reactAgent", runs_a_minute=2) as react, caller("you", runs_a_minute=2) as you:
        assert ended(await dev.post("/", json=body(thread="one"))) == "RUN_FINISHED"
        assert ended(await react.post("/", json=body(thread="two"))) == "RUN_FINISHED"
        for client in (dev, react):
            assert refusal(await client.post("/", json=body(thread="three"))) == (429, "LIMIT_EXCEEDED", "runs_a_minute", 30)
        assert ended(await you.post("/", json=body(thread="one"))) == "RUN_FINISHED"
        clock.at += 30
        assert ended(await react.post("/", json=body(thread="two"))) == "RUN_FINISHED"


async def test_runs_at_once(caller: Callers) -> None:
    """While one is under way, on whatever thread; then the place is free, without anybody's giving it back. The thread of the refused one
    is free too."""
    limit = {"runs_at_once": 1}
    async with caller(agent="reactAgent", offline_delay_ms=10, **limit) as react, caller(**limit) as dev, caller("you", **limit) as you:
        slow = asyncio.create_task(react.post("/", json=body("count to 300", thread="slow")))
        for _ in range(200):
            if (await react.post("/threads/slow/stop", json={"runId": "other"})).status_code == 409:
                break
            await asyncio.sleep(0.05)
        assert refusal(await dev.post("/", json=body(thread="fast"))) == (429, "LIMIT_EXCEEDED", "runs_at_once", 5)
        assert ended(await you.post("/", json=body(thread="fast"))) == "RUN_FINISHED"
        assert (await react.post("/threads/slow/stop")).status_code == 200
        assert ended(await slow) == "RUN_ERROR"
        for _ in range(3):
            assert ended(await dev.post("/", json=body(thread="fast"))) == "RUN_FINISHED"


async def test_tokens_a_day(caller: Callers, clock: Clock) -> None:
    """The run that uses them up ends; the next one waits for the next day."""
    async with caller(agent="reactAgent", tokens_a_day=5) as client:
        assert ended(await client.post("/", json=body("count to 20"))) == "RUN_FINISHED"
        left = 86_400 - int(clock.at % 86_400)
        assert refusal(await client.post("/", json=body("more", run="r2"))) == (429, "LIMIT_EXCEEDED", "tokens_a_day", left)
        clock.at += left
        assert ended(await client.post("/", json=body("more", run="r2"))) == "RUN_FINISHED"


async def test_a_repeated_request_is_joined(caller: Callers, clock: Clock) -> None:
    """It starts nothing, so no limit keeps it from its stream."""
    async with caller(runs_a_minute=1) as client:
        first = await client.post("/", json=body(), headers={"idempotency-key": "once"})
        again = await client.post("/", json=body(), headers={"idempotency-key": "once"})
        assert ended(first) == ended(again) == "RUN_FINISHED"
        assert refusal(await client.post("/", json=body(run="r2"), headers={"idempotency-key": "twice"}))[:2] == (429, "LIMIT_EXCEEDED")


async def test_in_the_background_too(caller: Callers, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is handed over; the thread stays free."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", "http://127.0.0.1:9")
    async with caller(runs_a_minute=1) as client:
        assert ended(await client.post("/", json=body())) == "RUN_FINISHED"
        assert refusal(await client.post("/", json=body(thread="u"), headers=ASYNC))[2] == "runs_a_minute"
        clock.at += 60
        assert ended(await client.post("/", json=body(thread="u"))) == "RUN_FINISHED"


def served_of(store: str, **settings: Any) -> Served:
    found: Served = create_app("dev", Settings(auth="iam", table_prefix=store, **settings)).state.served
    return found


async def test_who_died_holds_no_place(store: str) -> None:
    """Its lease is over, and with it its place."""
    served = served_of(store, runs_at_once=1)
    saver = served.graph("me").checkpointer
    assert isinstance(saver, DynamoDBSaver)
    dying, other = [await acquire(saver, thread, run_id="r", seconds=seconds) for thread, seconds in (("a", 1.0), ("b", 30.0))]
    allowance = served.allowance("me")
    assert allowance is not None
    await allowance.taken(dying)
    await allowance.asked()
    with pytest.raises(LimitExceeded):
        await allowance.taken(other)
    await asyncio.sleep(1.2)
    await allowance.taken(other)


async def test_many_at_one_moment(store: str, clock: Clock) -> None:
    """Seven of twenty, in any order."""
    counted = allowances.allowances(f"{store}threads", Limits(runs_a_minute=7), client=dynamodb_client())

    def begin(number: int) -> bool:
        try:
            counted.admit("me", counted.check("me"), f"pk{number}", 1, lambda pk, fence: True)
        except LimitReached:
            return False
        return True

    begun = await asyncio.gather(*(asyncio.to_thread(begin, number) for number in range(20)))
    assert sum(begun) == 7


def test_limits_need_our_tables() -> None:
    """Rather than being passed over in silence."""
    with pytest.raises(ValueError, match="threads table"):
        create_app("dev", Settings(auth="none", runs_a_minute=3), checkpointer=InMemorySaver())
