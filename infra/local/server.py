"""uvicorn, told what it would otherwise decide by itself: signals are ours, a stream does not hold up the end, a cut stream is no bug."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from infra.local.front import Front
from infra.local.invocation import TruncatedResponse


class Server(uvicorn.Server):
    """Leaves SIGINT and SIGTERM alone: uvicorn would take them and raise them again when it has ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_server(front: Front) -> Server:
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    config = uvicorn.Config(
        front,
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        # seconds that open streams get at the end; uvicorn's default waits for them for ever
        timeout_graceful_shutdown=1,
    )
    return Server(config)


def _is_news(record: logging.LogRecord) -> bool:
    """The front has told of a cut stream itself; that streams are cancelled at the end is what we asked for."""
    cause = record.exc_info[1] if record.exc_info else None
    return not isinstance(cause, TruncatedResponse | asyncio.CancelledError) and "graceful shutdown exceeded" not in str(record.msg)
