"""Threads live under their caller: over DynamoDB, the same id of two callers is two threads."""

from __future__ import annotations

from typing import Any

import pytest

from functions.settings import Settings
from functions.store.threads import Threads
from functions.web import create_app
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
