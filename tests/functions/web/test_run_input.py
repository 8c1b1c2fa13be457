"""What a body may hold, and what is said when it may not."""

from __future__ import annotations

from typing import Any

import pytest

from functions.web.problems import Problem
from functions.web.run_input import MAX_MESSAGES, parse_run_input

BODY: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "hi"}]}
USER = {"id": "1", "role": "user"}

REFUSED: dict[str, tuple[Any, str]] = {
    "not an object": ([], "JSON object"),
    "no thread": ({k: v for k, v in BODY.items() if k != "threadId"}, "threadId"),
    "no run": ({k: v for k, v in BODY.items() if k != "runId"}, "runId"),
    "no messages": ({k: v for k, v in BODY.items() if k != "messages"}, "messages"),
    "a number for a thread": ({**BODY, "threadId": 5}, "threadId"),
    "null for a thread": ({**BODY, "threadId": None}, "threadId"),
    "an empty thread": ({**BODY, "threadId": ""}, "threadId"),
    "a blank run": ({**BODY, "runId": "  "}, "runId"),
    "a huge thread": ({**BODY, "threadId": "x" * 257}, "threadId"),
    "a path for a thread": ({**BODY, "threadId": "a/b"}, "threadId"),
    "a Windows path for a thread": ({**BODY, "threadId": "a\\b"}, "threadId"),
    "a query in a thread": ({**BODY, "threadId": "a?b"}, "threadId"),
    "a fragment in a thread": ({**BODY, "threadId": "a#b"}, "threadId"),
    "the folder itself for a thread": ({**BODY, "threadId": "."}, "threadId"),
    "the folder above for a thread": ({**BODY, "threadId": ".."}, "threadId"),
    "a line break in a run": ({**BODY, "runId": "a\nb"}, "runId"),
    "messages that are no list": ({**BODY, "messages": "hi"}, "messages"),
    "a user message without content": ({**BODY, "messages": [USER]}, "content"),
    "a resume without status": ({**BODY, "resume": [{"interruptId": "i"}]}, "status"),
    "half a character": ({**BODY, "messages": [{**USER, "content": "\ud800"}]}, "surrogate"),
    "too many messages": ({**BODY, "messages": [{**USER, "content": "x"}] * (MAX_MESSAGES + 1)}, "messages"),
}


@pytest.mark.parametrize(("body", "named"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_named(body: Any, named: str) -> None:
    """A bad body is refused with the field's name, and nothing of its content is echoed."""
    with pytest.raises(Problem) as refused:
        parse_run_input(body)
    assert named in refused.value.message
    assert refused.value.status in (413, 422)
    assert "xxx" not in refused.value.message


IGNORED: dict[str, dict[str, Any]] = {
    "an unknown role": {"id": "2", "role": "narrator", "content": "once"},
    "a list for a role": {"id": "2", "role": ["user"], "content": "once"},
    "an object for a role": {"id": "2", "role": {"is": "user"}, "content": "once"},
    "a list for a part's type": {**USER, "content": [{"type": ["text"], "text": "no"}, {"type": "text", "text": "hi"}]},
    "an object for a source's type": {**USER, "content": [{"type": "image", "source": {"type": {}, "value": "x"}}]},
    "an activity": {"id": "2", "role": "activity", "activityType": "a", "content": {}},
    "an unknown part": {**USER, "content": [{"type": "hologram"}, {"type": "text", "text": "hi"}]},
    "a retired part": {**USER, "content": [{"type": "binary", "mimeType": "image/png", "data": "eA=="}, {"type": "text", "text": "hi"}]},
    "an unknown source": {**USER, "content": [{"type": "image", "source": {"type": "orbit", "value": "x"}}]},
    "an unknown field": {**USER, "content": "hi", "mood": "fine"},
}


@pytest.mark.parametrize("message", IGNORED.values(), ids=IGNORED)
def test_unknown_material_is_left_out(message: dict[str, Any]) -> None:
    """AG-UI asks receivers to ignore what they do not know."""
    parsed = parse_run_input({**BODY, "messages": [message], "futureField": 1})
    assert parsed.thread_id == "t"


def test_what_is_no_part_of_a_url_may_be_any_id() -> None:
    """A run is not addressed by its id, and dots inside a thread's id mean nothing to a URL."""
    parsed = parse_run_input({**BODY, "threadId": "a..b.", "runId": "../r?x#y"})
    assert (parsed.thread_id, parsed.run_id) == ("a..b.", "../r?x#y")


def test_null_lists_are_no_lists() -> None:
    """assistant-ui sends `state: null`; others send null for what they have none of."""
    parsed = parse_run_input({**BODY, "state": None, "tools": None, "context": None, "forwardedProps": None, "resume": None})
    assert parsed.resume is None
    assert list(parsed.tools or ()) == []
