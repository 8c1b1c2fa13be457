"""`functions.runtime.events`: Lambda events become ASGI scopes, and none of them can crash the runtime."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from mangum.types import Scope

from functions import own_event
from functions.runtime import BadRequest, NotHttpEvent, asgi_scope
from functions.runtime.context import LambdaContext
from tests.support.events import CONTEXT_HEADERS, alb_event, rest_event, url_event

CONTEXT = LambdaContext.from_headers(CONTEXT_HEADERS)


def read(event: Any) -> tuple[Scope, bytes]:
    return asgi_scope(event, CONTEXT)


def with_http(**changes: Any) -> dict[str, Any]:
    """A function URL's event whose `requestContext.http` has these values; None removes one."""
    http = {**url_event()["requestContext"]["http"], **changes}
    return url_event(requestContext={"http": {name: value for name, value in http.items() if value is not None}})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (url_event("/a b", "PUT"), {"method": "PUT", "path": "/a b", "scheme": "https", "client": ("203.0.113.7", 0)}),
        (url_event(rawQueryString="q=1&q=2"), {"query_string": b"q=1&q=2"}),
        (url_event("/t%2Fx"), {"path": "/t/x", "raw_path": b"/t%2Fx"}),
        (rest_event("/r"), {"path": "/r", "query_string": b"q=1&q=2", "client": ("203.0.113.8", 0), "server": ("api.example.com", 443)}),
        (alb_event("/l"), {"path": "/l", "query_string": b"q=a+b", "scheme": "http", "server": ("lb.example.com", 80)}),
        (alb_event(multiValueHeaders={"host": ["m.example.com"]}, headers=None), {"server": ("m.example.com", 443)}),
    ],
)
def test_sources(event: dict[str, Any], expected: dict[str, Any]) -> None:
    """Function URLs, API Gateway and load balancers are all read."""
    scope, _ = read(event)
    assert {name: scope[name] for name in expected} == expected


def test_scope_is_2_4_and_carries_the_event() -> None:
    """Starlette is told the ASGI version with which it does not listen for a disconnect, and apps find the event and the context."""
    event = url_event()
    scope, _ = read(event)
    assert scope["asgi"] == {"version": "3.0", "spec_version": "2.4"}
    assert (scope["aws.event"], scope["aws.context"]) == (event, CONTEXT)


@pytest.mark.parametrize(
    ("event", "headers"),
    [
        (url_event(headers=None), {}),
        (url_event(headers={"A": "1", "b": None}), {"a": "1"}),
        (url_event(headers={}, cookies=["a=1", "b=2"]), {"cookie": "a=1; b=2"}),
        (url_event(headers={"Host": "h", "X-Forwarded-Port": "1"}), {"host": "h", "x-forwarded-port": "1"}),
        (rest_event(headers=None, multiValueHeaders=None), {}),
        (rest_event(), {"accept": "a, b", "host": "api.example.com"}),
        (alb_event(headers=None), {}),
        (alb_event(multiValueHeaders=None, headers={"a": "1"}), {"a": "1"}),
    ],
)
def test_headers(event: dict[str, Any], headers: dict[str, str]) -> None:
    """Headers arrive in lower case; `null` is no headers; what was kept from Mangum is back."""
    scope, _ = read(event)
    assert {name.decode(): value.decode() for name, value in scope["headers"]} == headers


@pytest.mark.parametrize(
    ("headers", "server"),
    [
        ({"host": "a.example"}, ("a.example", 443)),
        ({"host": "a.example:8000"}, ("a.example", 8000)),
        ({"host": "a.example", "x-forwarded-port": "8443"}, ("a.example", 8443)),
        ({"host": "a.example", "x-forwarded-proto": "http"}, ("a.example", 80)),
        ({"host": "[::1]:8000"}, ("::1", 8000)),
        ({"host": "[::1]"}, ("::1", 443)),
        ({"host": "::1"}, ("::1", 443)),
        ({"host": "a:b:c"}, ("a:b:c", 443)),
        ({"host": "a:99999999"}, ("a:99999999", 443)),
        ({"host": "[bad"}, ("[bad", 443)),
        ({"host": ""}, ("localhost", 443)),
        ({"host": "a", "x-forwarded-port": "x"}, ("a", 443)),
        ({"host": "a", "x-forwarded-port": "99999"}, ("a", 443)),
        ({"host": "a", "x-forwarded-proto": "javascript"}, ("a", 443)),
        ({}, ("localhost", 443)),
    ],
)
def test_server(headers: dict[str, str], server: tuple[str, int]) -> None:
    """No host header, however odd, is an error."""
    scope, _ = read(url_event(headers=headers))
    assert (scope["server"], scope["scheme"] in ("http", "https")) == (server, True)


@pytest.mark.parametrize("event", [with_http(sourceIp=None), rest_event(requestContext={}), rest_event(requestContext={"identity": None})])
def test_client_may_be_unknown(event: dict[str, Any]) -> None:
    """No source address: the scope has no client."""
    assert read(event)[0]["client"] is None


@pytest.mark.parametrize(
    ("event", "body"),
    [
        (url_event(), b""),
        (url_event(body="ä"), "ä".encode()),
        (url_event(body=base64.b64encode(b"\x00\xff").decode(), isBase64Encoded=True), b"\x00\xff"),
        (url_event(isBase64Encoded=True), b""),
        (rest_event(body=None), b""),
        (alb_event(body="x"), b"x"),
    ],
)
def test_body(event: dict[str, Any], body: bytes) -> None:
    """Text as UTF-8, base64 decoded, nothing as nothing."""
    assert read(event)[1] == body


@pytest.mark.parametrize(
    "event",
    [
        url_event(body="a", isBase64Encoded=True),
        url_event(body="!!!!", isBase64Encoded=True),
        url_event(body="ä", isBase64Encoded=True),
        url_event(body=5, isBase64Encoded=True),
        url_event(body={"a": 1}),
        url_event(body="\ud800"),
        url_event(headers={"a": "\ud800"}),
        url_event(headers={"host": "\ud800"}),
        url_event(headers=[1]),
        url_event(headers={"a": 1}),
        url_event(rawQueryString=None),
        url_event(rawPath="\ud800"),
        url_event(cookies=5),
        with_http(path=None),
        with_http(path=7),
        rest_event(path=[1]),
        alb_event(queryStringParameters=[1]),
        alb_event(multiValueHeaders={"a": 5}),
    ],
)
def test_bad_requests(event: dict[str, Any]) -> None:
    """What cannot be read is the request's fault, never a crash."""
    with pytest.raises(BadRequest):
        read(event)


def test_an_event_of_its_own() -> None:
    """Reaches the app with what it says in the scope, and nothing of a request."""
    scope, body = read({own_event.KEY: {"runId": "r"}})
    assert (scope["method"], scope["path"], scope["headers"], body) == ("POST", own_event.PATH, [], b"")
    assert (scope[own_event.SCOPE], scope["aws.context"]) == ({"runId": "r"}, CONTEXT)


@pytest.mark.parametrize(
    "event",
    [
        url_event(own_event.PATH, "POST", '{"agentFunctions": {}}', agentFunctions={"runId": "r"}),
        rest_event(own_event.PATH, agentFunctions={"runId": "r"}),
        url_event(own_event.PATH, "POST", headers={"agents.own": "x", "agentfunctions": "{}"}),
    ],
)
def test_no_request_is_an_event_of_its_own(event: dict[str, Any]) -> None:
    """Whatever its body, its headers and its path say."""
    assert own_event.SCOPE not in read(event)[0]


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "text",
        7,
        {},
        {"Records": [{"eventSource": "aws:sqs"}]},
        {"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {}},
        {"requestContext": {"routeKey": "$connect", "connectionId": "x"}, "isBase64Encoded": False},
        {"version": "2.0", "requestContext": None},
        {"version": "2.0", "requestContext": {"http": {}}},
        {"version": "2.0", "requestContext": {"http": []}},
        {"requestContext": {"http": {"method": "GET"}}},
    ],
)
def test_not_http(event: Any) -> None:
    """Other sources' events are told apart before Mangum guesses."""
    with pytest.raises(NotHttpEvent):
        read(event)
