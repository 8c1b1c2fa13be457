"""Threads live under their agent and caller: over DynamoDB, the same id of two callers, or with two agents, is two threads."""

from __future__ import annotations

import time
from typing import Any

import pytest
from starlette.requests import Request

from functions.settings import Settings
from functions.store.threads import Threads
from functions.web import create_app
from functions.web.principal import principal_of
from functions.web.problems import Problem
from tests.functions.web.test_app import body, client_of
from tests.support.dynamodb import Dynamo


def event_of(user: str) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"iam": {"userArn": f"arn:aws:iam::1:user/{user}"}}}}


async def test_one_caller_never_sees_anothers_thread(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same thread id, two identities: each has its own messages; a third has none."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)
    prefix = dynamo.tables["threads"].removesuffix("threads")
    app = create_app("dev", Settings(auth="iam", table_prefix=prefix, offline_delay_ms=0))
    for user, text in (("ann", "start demo"), ("bob", "hello from bob")):
        async with client_of(app, **{"aws.event": event_of(user)}) as client:
            assert (await client.post("/", json=body(text))).status_code == 200
    seen: dict[str, Any] = {}
    for user in ("ann", "bob", "eve"):
        async with client_of(app, **{"aws.event": event_of(user)}) as client:
            answer = await client.get("/threads/t/messages")
            seen[user] = answer.json()["messages"][0]["content"] if answer.status_code == 200 else answer.status_code
    assert seen == {"ann": "start demo", "bob": "hello from bob", "eve": 404}
    rows = Threads(dynamo.tables["threads"], client=dynamo.client).list("arn:aws:iam::1:user/ann").rows
    assert [(row.thread_id, row.agent, row.title) for row in rows] == [("t", "dev", "start demo")]


async def test_another_agents_url_does_not_touch_a_thread(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's open question is not there for another one of the same table, and outlives a run of it under the same thread id."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)
    settings = Settings(auth="none", table_prefix=dynamo.tables["threads"].removesuffix("threads"), offline_delay_ms=0)
    async with client_of(create_app("dev", settings)) as dev, client_of(create_app("reactAgent", settings)) as other:
        await dev.post("/", json=body())
        asked = (await dev.get("/threads/t/state")).json()
        assert asked["interrupts"]
        assert (await other.get("/threads/t/state")).status_code == 404
        await other.post("/", json=body("hello from elsewhere", run="r2"))
        assert (await dev.get("/threads/t/state")).json() == asked
        assert (await other.get("/threads/t/messages")).json()["messages"][0]["content"] == "hello from elsewhere"
    rows = Threads(dynamo.tables["threads"], client=dynamo.client).list("local").rows
    assert [(row.agent, row.thread_id, row.title) for row in rows] == [
        ("reactAgent", "t", "hello from elsewhere"),
        ("dev", "t", "start demo"),
    ]


async def test_the_conversation_expires_where_threads_do(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    """`AGENTS_TTL_DAYS` holds for the row in the list of conversations too."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)
    settings = Settings(auth="none", table_prefix=dynamo.tables["threads"].removesuffix("threads"), offline_delay_ms=0, ttl_days=30)
    async with client_of(create_app("dev", settings)) as client:
        await client.post("/", json=body())
    [row] = dynamo.client.scan(TableName=dynamo.tables["threads"])["Items"]
    assert 0 <= 30 * 86_400 + time.time() - int(row["expires_at"]["N"]) < 600


def test_an_agents_name_holds_no_colon() -> None:
    """It would end somewhere else in the store's keys."""
    with pytest.raises(ValueError, match="colon"):
        create_app("a:b", Settings(auth="none"))


ROLE = "arn:aws:sts::1:assumed-role/Web/"
POOLED = {"userArn": f"{ROLE}CognitoIdentityCredentials", "userId": "AROA1:CognitoIdentityCredentials"}


def _who(iam: Any) -> str:
    event = {"requestContext": {"authorizer": {"iam": iam}}}
    return principal_of(Settings(auth="iam"))(Request({"type": "http", "aws.event": event}))


IDENTITIES: dict[str, tuple[dict[str, Any], str]] = {
    "a user": ({"userArn": "arn:aws:iam::1:user/ann", "cognitoIdentity": None}, "arn:aws:iam::1:user/ann"),
    "a session of a role": ({"userArn": f"{ROLE}ann"}, f"{ROLE}ann"),
    "an id alone": ({"userId": "AIDA1"}, "AIDA1"),
    "a user of a pool": ({**POOLED, "cognitoIdentity": {"identityId": "r:1", "identityPoolId": "r:p"}}, "cognito:r:p:r:1"),
    "a person of that name": (
        {"userArn": "arn:aws:iam::1:user/CognitoIdentityCredentials"},
        "arn:aws:iam::1:user/CognitoIdentityCredentials",
    ),
}


@pytest.mark.parametrize(("iam", "expected"), IDENTITIES.values(), ids=IDENTITIES)
def test_the_caller_is_the_narrowest_identity(iam: dict[str, Any], expected: str) -> None:
    """A Cognito identity beats the role that its whole pool shares; else the ARN with its session's name."""
    assert _who(iam) == expected


SHARED: dict[str, Any] = {
    "no cognitoIdentity": POOLED,
    "null": {**POOLED, "cognitoIdentity": None},
    "no pool": {**POOLED, "cognitoIdentity": {"identityId": "r:1"}},
    "wrong types": {**POOLED, "cognitoIdentity": {"identityId": ["r:1"], "identityPoolId": {}}},
    "an id alone": {"userId": POOLED["userId"]},
}


@pytest.mark.parametrize("iam", SHARED.values(), ids=SHARED)
def test_an_identity_that_a_whole_pool_shares_is_refused(iam: Any) -> None:
    """Its users would read each other's threads: 403 that says why."""
    with pytest.raises(Problem, match="Cognito identity pool") as refused:
        _who(iam)
    assert refused.value.status == 403
