"""`functions.runtime.failure`: every error fits into Lambda's trailers and has a type Lambda keeps."""

from __future__ import annotations

import base64
import json
import re

import pytest

from functions.runtime.failure import ERROR_BODY_TRAILER, ERROR_TYPE_HEADER, TRAILER_JSON_LIMIT, Failure


class _Private(Exception):
    pass


class X2(Exception):
    pass


class lower(Exception):
    pass


def deep(depth: int, error: Exception) -> None:
    if depth:
        deep(depth - 1, error)
    raise error


def raised(error: Exception, depth: int = 0) -> Exception:
    """The error with a traceback of `depth` frames and more."""
    with pytest.raises(type(error)) as caught:
        deep(depth, error)
    return caught.value


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError(), "Function.ValueError"),
        (_Private(), "Function.Private"),
        (X2(), "Function.Error"),
        (lower(), "Function.Lower"),
        (type("Ошибка", (Exception,), {})(), "Function.Error"),
    ],
)
def test_types(error: Exception, name: str) -> None:
    """The class name in AWS's pattern; others would become `Runtime.Unknown`."""
    assert Failure.of(error).type == name
    assert re.fullmatch(r"(Runtime|Function)\.[A-Z][a-zA-Z]+", name)


@pytest.mark.parametrize("depth", [0, 10, 200])
@pytest.mark.parametrize("message", ["", "short", "x" * 10_000, "漢" * 5_000, "\U0001f600" * 3_000, '"\\\n' * 3_000, "\ud800" * 2_000])
def test_trailers_fit(message: str, depth: int) -> None:
    """A block of trailers stays under 4,096 bytes and keeps the message's beginning, whatever was raised."""
    trailers = Failure.of(raised(ValueError(message), depth)).as_trailers()
    block = "".join(f"{name}: {value}\r\n" for name, value in trailers.items()) + "\r\n"
    assert len(block.encode("latin-1")) <= 4096
    data = base64.b64decode(trailers[ERROR_BODY_TRAILER])
    report = json.loads(data)
    assert len(data) <= TRAILER_JSON_LIMIT
    assert trailers[ERROR_TYPE_HEADER] == "Function.ValueError"
    assert message.startswith(report["errorMessage"].removesuffix("…")[:200])
    assert report["errorMessage"] or not message


def test_innermost_frames_stay() -> None:
    """Of a long traceback the end is kept: where it was raised."""
    report = json.loads(Failure.of(raised(ValueError("x"), 200)).as_json(2900))
    assert "raise error" in report["stackTrace"][-1]
    assert report["errorMessage"] == "x"
