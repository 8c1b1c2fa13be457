"""HTTP request → payload v2.0."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from infra.local.event import HttpRequest, to_event


def event(method: str = "GET", path: str = "/", query: str = "", body: bytes = b"", **headers: str) -> dict[str, Any]:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return to_event(HttpRequest(method, path, query, pairs, body))


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b'{"a": 1}', {"content_type": "application/json"}, ('{"a": 1}', False)),
        ("你好".encode(), {"content_type": "text/plain; charset=utf-8"}, ("你好", False)),
        (b"{}", {"content_type": "application/vnd.api+json"}, ("{}", False)),
        (b"<a/>", {"content_type": "application/xml"}, ("<a/>", False)),
        (b"\xff\xfe", {"content_type": "application/json"}, (base64.b64encode(b"\xff\xfe").decode(), True)),
        (b"{}", {"content_type": "application/json", "content_encoding": "gzip"}, ("e30=", True)),
        (b"a=1", {"content_type": "application/x-www-form-urlencoded"}, ("YT0x", True)),
        (b"\x89PNG", {"content_type": "image/png"}, ("iVBORw==", True)),
        (b"x", {}, ("eA==", True)),
    ],
)
def test_body(body: bytes, headers: dict[str, str], expected: tuple[str, bool]) -> None:
    """A body is plain only if it calls itself text, is not compressed and is UTF-8; all else is base64."""
    made = event("POST", body=body, **headers)
    assert (made["body"], made["isBase64Encoded"]) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a=1&b=2", {"a": "1", "b": "2"}),
        ("a=1&a=2", {"a": "1,2"}),
        ("a=&b", {"a": "", "b": ""}),
        ("a=%E4%BD%A0+x", {"a": "你 x"}),
    ],
)
def test_query(query: str, expected: dict[str, str]) -> None:
    """Repeated parameters are joined by commas and decoded; the raw string stays."""
    made = event(query=query)
    assert made["queryStringParameters"] == expected
    assert made["rawQueryString"] == query


def test_headers_are_lower_case_joined_and_edged() -> None:
    """Names are lower case, repeated ones joined; forwarding headers are the edge's own, whatever the client says."""
    pairs = (("X-A", "1"), ("x-a", "2"), ("Host", "127.0.0.1:8000"), ("X-Forwarded-For", "6.6.6.6"))
    made = to_event(HttpRequest("GET", "/", "", pairs, b"", client="127.0.0.1", port=8000))
    assert made["headers"] == {
        "x-a": "1,2",
        "host": "127.0.0.1:8000",
        "x-forwarded-for": "127.0.0.1",
        "x-forwarded-port": "8000",
        "x-forwarded-proto": "http",
    }


def test_cookies_are_a_list() -> None:
    """Cookies leave the headers and become a list, one entry a cookie."""
    made = event(cookie="a=1; b=2")
    assert made["cookies"] == ["a=1", "b=2"]
    assert "cookie" not in made["headers"]


def test_request_context() -> None:
    """Method, raw path, client and an anonymous account stand in the request context."""
    made = event("PATCH", "/threads/a%2Fb", user_agent="curl")
    context = made["requestContext"]
    assert made["rawPath"] == "/threads/a%2Fb"
    assert context["accountId"] == "anonymous"
    assert context["http"] == {
        "method": "PATCH",
        "path": "/threads/a%2Fb",
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "curl",
    }


def test_absent_parts_are_absent_keys() -> None:
    """Without body, query or cookies there is no key for them, as AWS leaves them out."""
    assert not event().keys() & {"body", "queryStringParameters", "cookies"}
