"""A request as the page sends it, through CloudFront's request function and signature, to the app: whose it is there."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest

from functions.web import create_app
from tests.functions.web.test_app import body, client_of
from tests.functions.web.test_principals import event_of
from tests.functions.web.test_tokens import settings_of
from tests.support.dynamodb import Dynamo
from tests.support.edge import at_the_edge, signed_by_cloudfront
from tests.support.oidc import oidc_provider, rsa_key
from tests.support.sigv4 import verify
from tests.support.sse import read_sse

SECRET, REGION = "cloudfronts own", "eu-west-1"


async def _through(client: httpx.AsyncClient, method: str, uri: str, token: str, value: Any = None) -> httpx.Response:
    """The viewer's request; on its way CloudFront reads no body, and Lambda checks the signature with it."""
    content = b"" if value is None else json.dumps(value).encode()
    hashed = {"x-amz-content-sha256": hashlib.sha256(content).hexdigest()} if content else {}
    sent = {"authorization": f"Bearer {token}", "content-type": "application/json", **hashed}
    (left,) = at_the_edge({"method": method, "uri": uri, "headers": sent})
    headers = signed_by_cloudfront(method, left["uri"], left["headers"], SECRET, region=REGION)
    verify(method, left["uri"], headers, content, SECRET, region=REGION)
    return await client.request(method, left["uri"], content=content, headers=headers)


async def test_a_caller_is_their_token_and_not_the_distribution(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two users behind one signature have a thread of the same id each; a stranger has none."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)
    with oidc_provider(rsa=rsa_key()) as provider:
        settings = settings_of(provider, table_prefix=dynamo.tables["threads"].removesuffix("threads"))
        tokens = {who: provider.token(sub=who) for who in ("ann", "bob")}
        said: dict[str, str] = {}
        # CloudFront's identity, as the function URL tells it of every caller
        async with client_of(create_app("dev", settings), **{"aws.event": event_of("cloudfront")}) as client:
            for who, token in tokens.items():
                run = await _through(client, "POST", "/agents/dev/", token, body(f"hello from {who}"))
                assert [event["type"] for event in read_sse(run.content)][-1] == "RUN_FINISHED"
            for who, token in tokens.items():
                messages = await _through(client, "GET", "/agents/dev/threads/t/messages", token)
                said[who] = messages.json()["messages"][0]["content"]
            stranger = await _through(client, "POST", "/agents/dev/", "no.such.token", body())
    assert said == {who: f"hello from {who}" for who in tokens}
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "TOKEN_MALFORMED")
