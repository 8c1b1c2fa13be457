"""Lambda's Invoke API for what functions send to themselves: a run that goes on in another invocation.

https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html, with `X-Amz-Invocation-Type: Event` alone. Its path has a secret that the
workers alone know, as on AWS the function's role alone may invoke it: whoever could send such an event could name any caller.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from infra.local.environment import IdleDeath
from infra.local.invocation import FunctionError, Invocation, TruncatedResponse
from infra.local.output import Console
from infra.local.pool import PoolClosed

ACCEPTED, NOT_FOUND = 202, 404
RETRIES = (2.0, 4.0, 0.0)
"""Seconds after each attempt; Lambda, which waits a minute and two, makes as many."""
Start = Callable[[str, Mapping[str, Any]], Awaitable[tuple[Any, Invocation]]]
"""(agent, event) → the worker that took it, and its invocation."""
_CALL = re.compile(r"/2015-03-31/functions/(?:arn:[^/]*:function:)?(?P<name>[^/:]+)(?::[^/]*)?/invocations")


class OwnEvents:
    """Delivers each event once; what the function answers is read and dropped, as for any asynchronous invocation."""

    def __init__(self, start: Start, console: Console) -> None:
        self.prefix = f"/lambda-{secrets.token_urlsafe(16)}"
        self._start = start
        self._console = console
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, path: str, body: bytes, known: Mapping[str, Any]) -> int:
        """The status of the answer: 202, or 404 for a function that is not here. `path` without the prefix."""
        found = _CALL.fullmatch(path)
        if found is None or found["name"] not in known:
            return NOT_FOUND
        task = asyncio.create_task(self._deliver(found["name"], json.loads(body)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return ACCEPTED

    async def _deliver(self, name: str, event: Mapping[str, Any]) -> None:
        for pause in RETRIES:
            try:
                _, invocation = await self._start(name, event)
                async for _ in invocation.chunks():
                    continue
            except (FunctionError, TruncatedResponse, IdleDeath) as error:
                self._console.say(f"[{name}] an event of its own failed: {error}")
                await asyncio.sleep(pause)
                continue
            except PoolClosed:
                pass
            return
