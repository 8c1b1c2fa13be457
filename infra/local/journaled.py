"""A WSGI layer over an AWS emulator: one request at a time, and each successful write is in the journal before it is acknowledged."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from infra.local.journal import Journal, Record
from infra.local.store import REGION

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_DYNAMODB_READ = re.compile(r"\.(Get|BatchGet|TransactGet|Query|Scan|Describe|List)")
_SCOPE = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")
# what only describes the connection, the client or the moment of one request
_NOISE = re.compile(
    r"amz-sdk-.*|accept.*|connection|content-length|expect|host|transfer-encoding|user-agent|x-amz-date|x-amz-security-token"
)


class JournaledApp:
    """Wraps `app`; `play` applies a record without journalling it."""

    def __init__(self, app: WSGIApplication, journal: Journal | None) -> None:
        self._app = app
        self._journal = journal
        # the order in the journal is the order in which the emulator applied the writes, and its tables are not made for threads
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if match := _SCOPE.search(environ.get("HTTP_AUTHORIZATION", "")):
            # one account and one region for all: the emulator would look for the table in the client's own
            environ["HTTP_AUTHORIZATION"] = authorization(region=REGION, service=match[2])
        record = request_record(environ)
        environ["wsgi.input"] = BytesIO(record.body)
        environ["CONTENT_LENGTH"] = str(len(record.body))
        with self._lock:
            status, headers, body = run(self._app, environ)
            if self._journal is not None and status.startswith("2"):
                for written in self._written(record):
                    self._journal.append(written)
        start_response(status, headers)
        return [body]

    def play(self, record: Record) -> str:
        """Applies one record → its HTTP status line."""
        status, _headers, _body = run(self._app, environ_of(record))
        return status

    def _written(self, record: Record) -> Iterator[Record]:
        """What of a successful request has to be done again after a restart."""
        if not is_write(record):
            return
        query = parse_qs(urlsplit(record.target).query, keep_blank_values=True)
        if record.method == "POST" and "uploadId" in query:
            # the parts of a multipart upload are journalled once they are one object: upload ids do not survive a restart
            yield from self.object_record(urlsplit(record.target).path, record.headers)
        elif not query.keys() & {"uploads", "uploadId"}:
            yield record

    def object_record(self, path: str, headers: dict[str, str]) -> Iterator[Record]:
        """The S3 object at `/bucket/key`, as the one PUT that would make it."""
        scope = {"authorization": headers["authorization"]}
        status, answered, body = run(self._app, environ_of(Record("GET", path, scope, b"")))
        if not status.startswith("200"):
            raise RuntimeError(f"{path} cannot be read back: {status}")
        kept = {name.lower(): value for name, value in answered if re.match(r"content-type|content-encoding|x-amz-meta-", name, re.I)}
        yield Record("PUT", path, scope | kept, body)


def is_write(record: Record) -> bool:
    """Whether the request may change something."""
    if target := record.headers.get("x-amz-target"):
        return not _DYNAMODB_READ.search(target)
    return record.method in ("PUT", "POST", "DELETE")


def request_record(environ: WSGIEnvironment) -> Record:
    """The request without what is of the moment only: dates, signatures, the client's name."""
    headers = {key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")}
    headers["content-type"] = environ.get("CONTENT_TYPE", "")
    kept = {name: value for name, value in headers.items() if not _NOISE.fullmatch(name)}
    if match := _SCOPE.search(headers.get("authorization", "")):
        kept["authorization"] = authorization(region=match[1], service=match[2])
    target = environ.get("RAW_URI") or environ["PATH_INFO"] + "?" + environ.get("QUERY_STRING", "")
    return Record(environ["REQUEST_METHOD"], target, kept, _body(environ))


def authorization(*, region: str, service: str) -> str:
    """The part of a signature that the emulator reads: which service of which region is meant."""
    return f"AWS4-HMAC-SHA256 Credential=local/20260101/{region}/{service}/aws4_request, SignedHeaders=host, Signature=0"


def environ_of(record: Record) -> WSGIEnvironment:
    from werkzeug.test import create_environ

    environ = create_environ(record.target, method=record.method, headers=record.headers, data=record.body)
    environ["RAW_URI"] = environ["REQUEST_URI"] = record.target
    return environ


def run(app: WSGIApplication, environ: WSGIEnvironment) -> tuple[str, list[tuple[str, str]], bytes]:
    from werkzeug.test import run_wsgi_app

    parts, status, headers = run_wsgi_app(app, environ, buffered=True)
    return status, list(headers), b"".join(parts)


def _body(environ: WSGIEnvironment) -> bytes:
    stream: Any = environ["wsgi.input"]
    if length := environ.get("CONTENT_LENGTH"):
        data: bytes = stream.read(int(length))
    else:
        data = stream.read() if environ.get("wsgi.input_terminated") else b""
    return data
