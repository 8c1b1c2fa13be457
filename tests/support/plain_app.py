"""A plain ASGI app for subprocesses: it imports no framework, so a process is up in a tenth of the time."""

from __future__ import annotations

import asyncio
import json
import os

from mangum.types import Receive, Scope, Send

from tests.support.asgi import body, scripted, start

GAP = 0.2
"""Seconds between two chunks of `/spread`."""
NOT_CALLABLE = 1


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """`/spread`: four chunks; `/mid`: fails after one; anything else: pid and request id. Fails to start if `$LIFESPAN_FAILS`."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["path"] == "/spread":
        await send(start(200, [("content-type", "text/event-stream")]))
        for number in range(4):
            await send(body(b"data: %d\n\n" % number, more=True))
            await asyncio.sleep(GAP)
        await send(body())
    elif scope["path"] == "/mid":
        await scripted(start(), body(b"one", more=True), error=ValueError("in the middle" * 1_000))(scope, receive, send)
    else:
        answer = {"pid": os.getpid(), "request": scope["aws.context"].aws_request_id}
        await scripted(start(200, [("content-type", "application/json")]), body(json.dumps(answer).encode()))(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    await receive()
    if "LIFESPAN_FAILS" in os.environ:
        await send({"type": "lifespan.startup.failed", "message": "no start today"})
        return
    await send({"type": "lifespan.startup.complete"})
    await receive()
    print("lifespan shutdown", flush=True)
    await send({"type": "lifespan.shutdown.complete"})
