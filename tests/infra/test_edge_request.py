"""CloudFront's request function, run in Node as CloudFront calls it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.edge import PAGE_REQUEST_CODE, REQUEST_CODE, at_the_edge

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


def test_the_page_is_where_no_file_is_named() -> None:
    """At the root alone. It is no default root object: an agent's path, made `/` by the other function, could become the page's."""
    asked: list[dict[str, Any]] = [{"method": "GET", "uri": uri, "headers": {}} for uri in ("/", "/agent.js", "/sub/", "/index.html")]
    found = [one["uri"] for one in at_the_edge(*asked, code=PAGE_REQUEST_CODE)]
    assert found == ["/index.html", "/agent.js", "/sub/", "/index.html"]


@pytest.mark.parametrize("path", [REQUEST_CODE, PAGE_REQUEST_CODE], ids=lambda path: path.name)
def test_it_is_small_enough_and_plain(path: Path) -> None:
    """CloudFront takes 10 KB, and its JavaScript has no modules."""
    code = path.read_text(encoding="utf-8")
    assert len(code.encode()) < 10_240
    assert re.findall(r"^\s*(?:import|export)\b|\brequire\(", code, re.MULTILINE) == []
