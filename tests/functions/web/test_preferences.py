"""The headers that say how a run is started."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from functions.web.preferences import idempotency_key, wait_seconds
from functions.web.problems import Problem


def request(*headers: tuple[str, str]) -> Request:
    return Request({"type": "http", "headers": [(name.encode(), value.encode()) for name, value in headers]})


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ([], 0),
        (["wait=5"], 5),
        (["Wait = 5"], 5),
        (['wait="5"'], 5),
        (["respond-async, wait=5"], 5),
        (["respond-async", "wait=5; foo=bar"], 5),
        (["wait=3600"], 60),
        (["wait=soon"], 0),
        (["wait=-5"], 0),
        (["wait=5s"], 0),
        (["await=5"], 0),
        (["wait=99999999"], 0),
    ],
)
def test_waiting(given: list[str], seconds: float) -> None:
    """RFC 7240's `wait`, in whichever header and place; at most a minute, and nothing where it cannot be read."""
    assert wait_seconds(request(*(("prefer", value) for value in given))) == seconds


@pytest.mark.parametrize("key", ["8e03978e-40d5", "a b", "k" * 256])
def test_a_key(key: str) -> None:
    """Is taken as it is."""
    assert idempotency_key(request(("idempotency-key", key))) == key


def test_no_key() -> None:
    """Is no key."""
    assert idempotency_key(request()) is None


@pytest.mark.parametrize("key", ["", " ", "k" * 257, "a\x00b"])
def test_what_is_no_key(key: str) -> None:
    """Empty, too long, not printable: a client that relies on it must hear of it."""
    with pytest.raises(Problem, match="Idempotency-Key must be 1 to 256 printable characters"):
        idempotency_key(request(("idempotency-key", key)))
