"""Where traces go, on loopback: an OTLP collector and LangSmith's API. Each says when what arrived."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.http_server import QuietHandler, serving

INGEST = {
    "use_multipart_endpoint": True,
    "scale_up_qsize_trigger": 1_000,
    "scale_up_nthreads_limit": 16,
    "scale_down_nempty_trigger": 4,
    "size_limit": 100,
    "size_limit_bytes": 20_971_520,
}
"""What LangSmith's `/info` says about batches; its client's thread ends where one of them is missing."""


@dataclass(slots=True)
class Collector:
    """`url` has no slash at its end. `answers`: the status; `waits`: seconds before it is sent."""

    url: str = ""
    posts: list[tuple[str, bytes]] = field(default_factory=list)
    answers: int = 200
    waits: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def spans(self) -> list[dict[str, Any]]:
        """Name and attributes of each span that arrived by OTLP."""
        found = []
        for path, body in list(self.posts):
            if path == "/v1/traces":
                request = ExportTraceServiceRequest.FromString(body)
                spans = (span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans)
                found += [{"name": s.name, **{a.key: a.value.string_value or a.value.int_value for a in s.attributes}} for s in spans]
        return found

    def runs(self) -> set[str]:
        """Names of the runs that arrived in LangSmith."""
        text = b"".join(body for path, body in list(self.posts) if path.startswith("/runs"))
        return {name for name in ("reactAgent", "OfflineModel", "kb_search") if f'"{name}"'.encode() in text}


@contextmanager
def collector(*, answers: int = 200, waits: float = 0.0) -> Iterator[Collector]:
    made = Collector(answers=answers, waits=waits)

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self._answer({"version": "0.13.0", "batch_ingest_config": INGEST})

        def do_POST(self) -> None:
            body = self._body()
            time.sleep(made.waits)
            with made.lock:
                made.posts.append((self.path, body))
            self._answer({})

        do_PATCH = do_POST

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

        def _answer(self, content: dict[str, Any]) -> None:
            data = b"" if self.path.startswith("/v1/") else json.dumps(content).encode()
            self.send_response(made.answers)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with serving(Handler) as url:
        made.url = url
        yield made
