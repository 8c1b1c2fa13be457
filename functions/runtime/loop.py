"""The life of one Lambda environment: start the app, then take events one by one, in one asyncio loop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from http import HTTPStatus
from typing import Any

from mangum.exceptions import LifespanFailure
from mangum.protocols import LifespanCycle
from mangum.types import ASGI, Scope

from functions import own_event
from functions.runtime import snapstart
from functions.runtime.client import Received, RuntimeClient
from functions.runtime.context import LambdaContext
from functions.runtime.cycle import Cycle, Kept, problem
from functions.runtime.events import BadRequest, NotHttpEvent, asgi_scope
from functions.runtime.failure import Failure
from functions.runtime.wire import Answer

logger = logging.getLogger(__name__)

ACCEPTED = 202
TIMED_OUT = 410


def serve(app: ASGI, runtime_api: str | None = None) -> None:
    """Serves `app` until SIGTERM or until the Runtime API refuses. Blocks; one asyncio loop for all invocations.

    `runtime_api` is `host:port`, by default `$AWS_LAMBDA_RUNTIME_API`. Raises `SystemExit` if the app cannot start.
    """
    environment = Environment(app, RuntimeClient(runtime_api or os.environ["AWS_LAMBDA_RUNTIME_API"]))
    asyncio.run(_run(environment))


async def _run(environment: Environment) -> None:
    # Lambda sends SIGTERM to a function with an extension, the local stack to a worker it recycles; SIGINT is Ctrl-C in its terminal
    loop = asyncio.get_running_loop()
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, environment.stop)
    except (NotImplementedError, RuntimeError, ValueError):
        logger.debug("signals are not handled here: Windows, or not the main thread")
    await environment.run()


class Environment:
    """One environment: the app, its lifespan and its client. What belongs to one invocation is in its `Cycle`."""

    def __init__(self, app: ASGI, client: RuntimeClient) -> None:
        self._app = app
        self._client = client
        self._stopping = asyncio.Event()
        self._state: dict[str, Any] = {}

    async def run(self) -> None:
        """Lifespan startup, SnapStart if it is on, invocations until `stop`, lifespan shutdown."""
        lifespan = LifespanCycle(self._app, "auto")
        running = asyncio.create_task(lifespan.run())
        await self._start(lifespan)
        try:
            if snapstart.enabled():
                await snapstart.pass_snapshot(self._client)
            while (received := await self._next()) is not None:
                await self._handle(received)
        finally:
            await lifespan.shutdown()
            await running

    def stop(self) -> None:
        """Ends the loop once the present invocation, if any, is answered.

        An event that is handed out in the same moment is lost, so whoever stops an idle environment sends it none any more (as Lambda).
        """
        self._stopping.set()

    async def _start(self, lifespan: LifespanCycle) -> None:
        """Lifespan startup, once; what the app puts into its state is seen by every request."""
        try:
            await lifespan.startup()
        except LifespanFailure as exc:
            logger.error("the app did not start: %s", exc)
            await self._client.init_error(Failure.of(exc, "Runtime.LifespanFailure"))
            raise SystemExit(1) from exc
        self._state = lifespan.lifespan_state

    async def _next(self) -> Received | None:
        """The next event; None if the environment is to stop first."""
        if self._stopping.is_set():
            return None
        waiting = asyncio.create_task(self._client.next())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return waiting.result() if waiting.done() else None
        finally:
            waiting.cancel()
            stopping.cancel()
            await asyncio.wait({waiting, stopping})

    async def _handle(self, received: Received) -> None:
        """One invocation, from its event to the end of its background work. Nothing that goes wrong in it ends the environment."""
        try:
            context = LambdaContext.from_headers(received.headers)
            # where AWS's SDKs and Powertools look; one for the process, as long as one invocation runs at a time
            os.environ["_X_AMZN_TRACE_ID"] = context.trace_id
            scope, body = asgi_scope(json.loads(received.payload), context)
        except BadRequest as exc:
            await self._respond(received, {"type": "http", "method": "POST"}, b"", problem(400, "BAD_REQUEST", str(exc)))
        except (NotHttpEvent, ValueError, RecursionError) as exc:
            await self._refuse(received, exc)
        else:
            await (self._own if own_event.SCOPE in scope else self._respond)(received, scope, body, self._app)

    async def _own(self, received: Received, scope: Scope, body: bytes, app: ASGI) -> None:
        """An event that the function sent to itself. Nobody reads its answer; where the app fails, Lambda is told so and tries it again."""
        scope["state"] = dict(self._state)
        answer = Kept()
        await Cycle(scope, body, answer).run(app)
        if answer.failed:
            _log(received, "error", await self._client.error(received, Failure("Function.OwnEventFailed", "see the log")))
            return
        await self._respond(received, scope, body, problem(HTTPStatus.OK, "DONE", "an event of its own"))

    async def _respond(self, received: Received, scope: Scope, body: bytes, app: ASGI) -> None:
        # a copy for each request, as ASGI has it: what one request sets is not seen by the next
        scope["state"] = dict(self._state)
        upload = self._client.response(received)
        try:
            await Cycle(scope, body, upload).run(app)
        finally:
            answer = await upload.close()
        _log(received, "response", answer)

    async def _refuse(self, received: Received, exc: Exception) -> None:
        """Reports an event that no ASGI app can answer."""
        logger.error("invocation %s: %s", received.request_id, exc)
        failure = Failure("Runtime.UnsupportedEvent" if isinstance(exc, NotHttpEvent) else "Runtime.UnmarshalError", str(exc))
        try:
            _log(received, "error", await self._client.error(received, failure))
        except OSError as lost:
            logger.warning("invocation %s: its error could not be posted: %s", received.request_id, lost)


def _log(received: Received, call: str, answer: Answer | None) -> None:
    """Says what became of a post. None of it ends the environment: if Lambda wants that, the following `next` fails."""
    if answer is None:
        logger.warning("invocation %s: the %s was cut off", received.request_id, call)
    elif answer.status == TIMED_OUT:
        logger.warning("invocation %s had timed out before its %s was posted", received.request_id, call)
    elif answer.status != ACCEPTED:
        logger.error("invocation %s: %s got %d %s", received.request_id, call, answer.status, answer.body[:500].decode(errors="replace"))
