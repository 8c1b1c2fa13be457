"""CloudFront's request function, run in Node as CloudFront calls it."""

from __future__ import annotations

import re

import pytest

from tests.support.edge import REQUEST_CODE, at_the_edge

URIS = {
    "/agents/dev/": "/",
    "/agents/dev": "/",
    "/agents/dev/connect": "/connect",
    "/agents/reactAgent/threads/a%2Fb%20c/state": "/threads/a%2Fb%20c/state",
    "/agents/kb/agents/kb/": "/agents/kb/",
    "/agents/dev//evil.example/": "//evil.example/",
    "/docs": "/docs",
}
HEADERS = {
    "nothing": ({"accept": "*/*"}, {"accept": "*/*"}),
    "a token": ({"authorization": "Bearer a.b.c"}, {"x-forwarded-authorization": "Bearer a.b.c"}),
    "one of the viewer's own making": ({"x-forwarded-authorization": "Bearer x"}, {}),
    "both": ({"authorization": "Bearer a", "x-forwarded-authorization": "Bearer x"}, {"x-forwarded-authorization": "Bearer a"}),
    "the body's hash": ({"x-amz-content-sha256": "00"}, {"x-amz-content-sha256": "00"}),
}


def test_an_app_sees_its_own_paths() -> None:
    """The prefix goes, once; what is encoded stays encoded."""
    asked = [{"method": "GET", "uri": uri, "headers": {}} for uri in URIS]
    assert [one["uri"] for one in at_the_edge(*asked)] == list(URIS.values())


@pytest.mark.parametrize(("sent", "left"), HEADERS.values(), ids=HEADERS)
def test_a_token_goes_on_under_another_name(sent: dict[str, str], left: dict[str, str]) -> None:
    """CloudFront's signature takes `Authorization`; the other header is the token's alone."""
    (one,) = at_the_edge({"method": "POST", "uri": "/agents/dev/", "headers": sent})
    assert one["headers"] == left


def test_it_is_small_enough_and_plain() -> None:
    """CloudFront takes 10 KB, and its JavaScript has no modules."""
    code = REQUEST_CODE.read_text(encoding="utf-8")
    assert len(code.encode()) < 10_240
    assert re.findall(r"^\s*(?:import|export)\b|\brequire\(", code, re.MULTILINE) == []
