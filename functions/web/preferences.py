"""What a client's headers say of how its run is started."""

from __future__ import annotations

import re

from starlette.requests import Request

from functions.web.run_input import check_id

MOST_WAIT = 60.0
"""Seconds that a request may wait for a busy thread: a client's own patience ends about then."""
_ASYNC = re.compile(r"(?:\A|[,;\s])respond-async(?=\Z|[,;\s])", re.IGNORECASE)
_WAIT = re.compile(r"(?:\A|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?=\Z|[,;\s])", re.IGNORECASE)


def idempotency_key(request: Request) -> str | None:
    """`Idempotency-Key` (IETF draft of that name): the same request again starts nothing.

    Raises:
        Problem: it is empty, longer than 256 characters, or not printable.
    """
    key = request.headers.get("idempotency-key")
    if key is not None:
        check_id("Idempotency-Key", key)
    return key


def responds_async(request: Request) -> bool:
    """`Prefer: respond-async` (RFC 7240): the run goes on without this request."""
    return _ASYNC.search(", ".join(request.headers.getlist("prefer"))) is not None


def wait_seconds(request: Request) -> float:
    """`Prefer: wait=N` (RFC 7240): seconds to wait while another run has the thread, at most a minute. What cannot be read is none."""
    found = _WAIT.search(", ".join(request.headers.getlist("prefer")))
    return min(float(found[1]), MOST_WAIT) if found else 0.0
