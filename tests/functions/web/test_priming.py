"""What a process does before its snapshot leaves nothing behind but what was built."""

from __future__ import annotations

import logging
import threading

import pytest
from botocore.exceptions import EndpointConnectionError

from functions.settings import Settings
from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import dynamodb_client
from functions.web import create_app
from functions.web.priming import prime

SETTINGS = Settings(auth="iam", offline_delay_ms=0)
NOWHERE = "http://127.0.0.1:9"


async def test_nothing_leaves_the_process(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is at an address where nobody listens, and no call fails; afterwards calls go there again. No thread stays."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    client = dynamodb_client(NOWHERE, "us-east-1")
    app = create_app("dev", SETTINGS, checkpointer=DynamoDBSaver("agents-checkpoints", client=client))
    before = set(threading.enumerate())
    with caplog.at_level(logging.INFO):
        await prime(app, SETTINGS)
    assert "primed" not in caplog.text
    assert set(threading.enumerate()) <= before
    with pytest.raises(EndpointConnectionError):
        client.get_item(TableName="agents-checkpoints", Key={"pk": {"S": "a"}, "sk": {"S": "a"}})


async def test_what_goes_wrong_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """And keeps no environment from starting."""
    app = create_app("dev", SETTINGS, checkpointer=DynamoDBSaver("agents-checkpoints", client=dynamodb_client(NOWHERE, "us-east-1")))
    del app.state.served
    await prime(app, SETTINGS)
    assert "the process is not primed" in caplog.text
