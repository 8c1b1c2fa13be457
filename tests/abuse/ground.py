"""Where the attacks happen: functions with their tables, a victim's thread, a place that nobody may be sent to, and the log."""

from __future__ import annotations

import io
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from functions.observing.middleware import Observing
from functions.settings import Settings
from functions.store.clients import dynamodb_client, s3_client
from functions.store.tables import create_tables
from functions.web import create_app
from tests.support.events import url_event
from tests.support.process_logs import process_logs

ANN, BEN = "arn:aws:iam::1:user/ann", "arn:aws:iam::1:user/ben"
SECRET = "canary-7f3a"
"""In all that Ann says; Ben and the log must never have it."""


@dataclass
class Ground:
    """`log`: what the process writes at INFO; `bait`: the paths that were asked of the forbidden place at `bait_url`."""

    settings: Settings
    log: io.StringIO
    bait_url: str
    bait: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def client(self, who: str = BEN, agent: str = "dev", **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        """An HTTP client that is this IAM identity to a function of its own."""
        chosen = self.settings.model_copy(update=settings)
        app = Observing(create_app(agent, chosen), chosen)
        event = url_event("/", "POST")
        event["requestContext"]["authorizer"] = {"iam": {"userArn": who}}

        async def with_event(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "aws.event": event}, receive, send)

        transport = httpx.ASGITransport(with_event, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://url", timeout=120) as client:
            yield client


@contextmanager
def ground(endpoint: str) -> Iterator[Ground]:
    """Fresh tables and a bucket at `endpoint`, in the environment that functions find them by."""
    prefix = f"a{uuid.uuid4().hex}-"
    with pytest.MonkeyPatch.context() as patch, _bait() as (bait_url, bait):
        given = {"ENDPOINT_URL": endpoint, "REGION": "us-east-1", "ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
        for name, value in given.items():
            patch.setenv(f"AWS_{name}", value)
        create_tables(dynamodb_client(), prefix)
        s3_client().create_bucket(Bucket=prefix[:-1])
        settings = Settings(auth="iam", table_prefix=prefix, bucket=prefix[:-1], offline_delay_ms=0, log_level="INFO")
        with process_logs(settings, patch) as log:
            yield Ground(settings, log, bait_url, bait)


@contextmanager
def _bait() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        do_POST = do_HEAD = do_GET

        def log_message(self, *args: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
