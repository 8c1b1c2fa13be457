"""CORS as a function URL's configuration answers it."""

from __future__ import annotations

import pytest

from infra.local.cors import Cors, is_preflight

ASKED = {"origin": "http://a.test", "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("OPTIONS", ASKED, True),
        ("OPTIONS", {"origin": "http://a.test"}, False),
        ("OPTIONS", {}, False),
        ("POST", ASKED, False),
    ],
)
def test_is_preflight(method: str, headers: dict[str, str], expected: bool) -> None:
    """Only an OPTIONS with an origin and a requested method is a preflight; others reach the function."""
    assert is_preflight(method, headers) is expected


@pytest.mark.parametrize(
    ("cors", "expected"),
    [
        (
            Cors(),
            {
                "access-control-allow-origin": "*",
                "access-control-allow-methods": "POST",
                "access-control-allow-headers": "authorization,content-type",
                "access-control-max-age": "300",
            },
        ),
        (
            Cors(allow_origins=("http://a.test",), allow_methods=("GET", "POST"), allow_headers=("content-type",), max_age=5),
            {
                "access-control-allow-origin": "http://a.test",
                "vary": "Origin",
                "access-control-allow-methods": "GET,POST",
                "access-control-allow-headers": "content-type",
                "access-control-max-age": "5",
            },
        ),
        (Cors(allow_origins=("http://b.test",)), {}),
        (Cors(allow_origins=(), loopback=True), {}),
    ],
)
def test_preflight(cors: Cors, expected: dict[str, str]) -> None:
    """A preflight is answered from the configuration; `*` for headers names those asked for, since a browser's `*` omits Authorization."""
    assert {name.decode(): value.decode() for name, value in cors.preflight(ASKED)} == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, []),
        ({"origin": "http://a.test"}, [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"x-worker-pid")]),
    ],
)
def test_answer(headers: dict[str, str], expected: list[tuple[bytes, bytes]]) -> None:
    """Other answers get headers only when the request has an origin."""
    assert Cors().answer(headers) == expected


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:5173", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:3000", True),
        ("http://chosen.test", True),
        ("http://localhost.evil.test", False),
        ("http://evil.test", False),
        ("http://[x", False),
        ("null", False),
    ],
)
def test_origins_of_this_machine(origin: str, allowed: bool) -> None:
    """With `loopback` every port of this machine may read, and what is listed; the answer names the one that asked."""
    cors = Cors(allow_origins=("http://chosen.test",), expose_headers=(), loopback=True)
    expected = [(b"access-control-allow-origin", origin.encode()), (b"vary", b"Origin")] if allowed else []
    assert cors.answer({"origin": origin}) == expected
