"""What LangSmith and OpenTelemetry have collected is sent before the environment freezes: their threads would stand still in it.

Nothing is imported to find out whether they are on: who uses them has loaded them, and costs nothing where nobody has.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

log = logging.getLogger(__name__)

SIGNALS = {"trace": "get_tracer_provider", "metrics": "get_meter_provider", "_logs": "get_logger_provider"}
"""Of OpenTelemetry: module of the API → its provider."""

Flush = Callable[[float], bool]
"""Seconds → whether everything is out."""


async def flush_exporters(seconds: float) -> None:
    """Sends what is left. At most `seconds` for all of it together; what fails or is late is logged, and never raised."""
    waiting = [(name, asyncio.create_task(_in_thread(flush, seconds))) for name, flush in exporters()]
    if not waiting:
        return
    await asyncio.wait([task for _, task in waiting], timeout=seconds)
    for name, task in waiting:
        if not task.done():
            task.cancel()
            log.warning("%s: traces of this run may be late or lost, they were not sent within %.1f s", name, seconds)
        elif (error := task.exception()) is not None:
            log.error("%s: traces of this run were not sent", name, exc_info=error)
        elif not task.result():
            log.warning("%s: traces of this run may be late or lost, they were not sent within %.1f s", name, seconds)


def exporters() -> Iterator[tuple[str, Flush]]:
    """Those that are on in this process."""
    # LangChain's tracers share this client; it is made by the first run that is traced
    client = getattr(sys.modules.get("langsmith.run_trees"), "_CLIENT", None)
    if client is not None:
        yield "LangSmith", partial(_flush_langsmith, client)
    for signal, getter in SIGNALS.items():
        if f"opentelemetry.sdk.{signal}" in sys.modules:
            provider = getattr(sys.modules[f"opentelemetry.{signal}"], getter)()
            if hasattr(provider, "force_flush"):
                yield f"OpenTelemetry {signal.strip('_')}", partial(_flush_otel, provider)


def _flush_langsmith(client: Any, seconds: float) -> bool:
    client.flush(timeout=seconds)
    queue = client.tracing_queue
    return queue is None or not queue.unfinished_tasks


def _flush_otel(provider: Any, seconds: float) -> bool:
    # a proxy of the API's has none, a vendor's may return nothing
    return provider.force_flush(int(seconds * 1_000)) is not False


async def _in_thread(flush: Flush, seconds: float) -> bool:
    """In a thread that nobody waits for in the end: OpenTelemetry's SDK does not look at the time that it is given
    (https://github.com/open-telemetry/opentelemetry-python/issues/4568)."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def tell(outcome: bool | Exception) -> None:
        if done.done():
            return
        if isinstance(outcome, Exception):
            done.set_exception(outcome)
        else:
            done.set_result(outcome)

    def work() -> None:
        try:
            outcome: bool | Exception = flush(seconds)
        except Exception as exc:  # noqa: BLE001 - raised again where it is awaited
            outcome = exc
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, outcome)

    threading.Thread(target=contextvars.copy_context().run, args=(work,), name="flush-traces", daemon=True).start()
    return await done
