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
