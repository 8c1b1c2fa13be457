"""What AWS does and neither moto nor dynalite ever will, through botocore's event hooks on a real client of a real server."""

from __future__ import annotations

import io
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from botocore.httpsession import URLLib3Session

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
READS = ("GetItem", "Query", "Scan")


class Fault(Enum):
    """What happens to one request."""

    THROTTLED = "throttled"
    """Refused for its rate; nothing is applied."""
    RESET = "connection reset"
    """The connection breaks before the server has the request."""
    SERVER_ERROR = "500"
    """The server fails before it applies anything."""
    HALF_DONE = "500 half way"
    """Of a batch the first half is applied, of anything else nothing; then the server fails."""
    APPLIED_ERROR = "500 after the write"
    """All is applied, and the answer is an error."""
    LOST_ANSWER = "answer lost"
    """All is applied, and no answer arrives before the timeout."""
    WORST = "half or all applied"
    """A batch is half done, anything else done and its answer lost."""


class Faults:
    """Makes the requests of some clients fail. Every attempt counts: what the SDK repeats is a request of its own."""

    def __init__(self, *clients: DynamoDBClient | S3Client) -> None:
        self._clients = clients
        self._wire = URLLib3Session(timeout=15)
        self._lock = threading.Lock()
        self.seen = 0
        self.injected = 0

    @contextmanager
    def inject(self, *faults: Fault, operation: str | None = None, first: int = 0, times: float = 1) -> Iterator[Faults]:
        """Requests number `first` (of all, or of one operation, from 0) to `first + times - 1` meet the faults, the last one over and
        over; infinitely many are an outage."""
        self.seen = self.injected = 0

        def answer(request: AWSPreparedRequest, event_name: str, **_: Any) -> AWSResponse | None:
            asked = event_name.rpartition(".")[2]
            hit = self._next_hit(first, times) if operation in (None, asked) else None
            return None if hit is None else self._meet(faults[min(hit, len(faults) - 1)], request, asked)

        with self._registered("before-send", answer):
            yield self

    def count(self) -> Any:
        """Counts requests, injecting none: `with faults.count(): …`, then `seen`."""
        return self.inject(Fault.RESET, times=0)

    def _next_hit(self, first: int, times: float) -> int | None:
        with self._lock:
            hit = self.seen - first
            self.seen += 1
            if not 0 <= hit < times:
                return None
            self.injected += 1
        return hit

    @contextmanager
    def _registered(self, event: str, handler: Callable[..., Any]) -> Iterator[None]:
        for client in self._clients:
            client.meta.events.register(event, handler)
        try:
            yield
        finally:
            for client in self._clients:
                client.meta.events.unregister(event, handler)

    def _meet(self, fault: Fault, request: AWSPreparedRequest, operation: str) -> AWSResponse:
        if fault is Fault.WORST:
            fault = Fault.HALF_DONE if operation == "BatchWriteItem" else Fault.LOST_ANSWER
        if fault in (Fault.LOST_ANSWER, Fault.APPLIED_ERROR):
            self._wire.send(request)
        elif fault is Fault.HALF_DONE and operation == "BatchWriteItem":
            self._wire.send(_half(request))
        match fault:
            case Fault.LOST_ANSWER:
                raise ReadTimeoutError(endpoint_url=request.url)
            case Fault.RESET:
                raise ConnectionClosedError(endpoint_url=request.url)
            case Fault.THROTTLED:
                return _error(request, 400, "ProvisionedThroughputExceededException")
            case _:
                return _error(request, 500, "InternalServerError")

    def leave_all_unprocessed(self) -> None:
        """No batch write does anything any more."""

        def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
            return _answer(request, 200, json.dumps({"UnprocessedItems": json.loads(_body(request))["RequestItems"]}))

        for client in self._clients:
            client.meta.events.register("before-send.dynamodb.BatchWriteItem", answer)  # type: ignore[arg-type]  # may return the answer

    @contextmanager
    def leave_unprocessed(self, times: int) -> Iterator[Faults]:
        """The next `times` batch writes of several requests do all but the last one, which the server hands back."""
        self.injected = 0

        def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
            ((table, requests),) = json.loads(_body(request))["RequestItems"].items()
            with self._lock:
                if self.injected >= times or len(requests) < 2:
                    return None
                self.injected += 1
            self._wire.send(_batch(request, table, requests[:-1]))
            return _answer(request, 200, json.dumps({"UnprocessedItems": {table: requests[-1:]}}))

        with self._registered("before-send.dynamodb.BatchWriteItem", answer):
            yield self

    @contextmanager
    def refuse_deletes(self) -> Iterator[None]:
        """S3 answers a deletion of many objects with 200, and in it that the first was not deleted (none is)."""

        def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
            return _answer(request, 200, "<DeleteResult><Error><Key>k</Key><Code>InternalError</Code></Error></DeleteResult>")

        with self._registered("before-send.s3.DeleteObjects", answer):
            yield


class LaggingReplica:
    """Reads that are not consistent come from a second table which is `behind` writes behind the first (infinite: it stays empty).

    `client` is the one to be watched, `plain` another one on the same server, for the copies.
    """

    def __init__(self, client: DynamoDBClient, plain: DynamoDBClient, table: str, replica: str, *, behind: float = math.inf) -> None:
        self._plain, self._table, self._replica, self._behind = plain, table, replica, behind
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        self._lock = threading.Lock()
        self.stale_reads: list[str] = []
        for operation in READS:
            client.meta.events.register_first(f"before-parameter-build.dynamodb.{operation}", self._read)
        for operation in WRITES:
            client.meta.events.register_first(f"before-parameter-build.dynamodb.{operation}", self._remember)
            client.meta.events.register(f"after-call.dynamodb.{operation}", self._written)

    def _read(self, params: dict[str, Any], event_name: str, **_: Any) -> None:
        if params["TableName"] == self._table and not params.get("ConsistentRead"):
            self.stale_reads.append(event_name.rpartition(".")[2])
            params["TableName"] = self._replica

    def _remember(self, params: dict[str, Any], context: dict[str, Any], event_name: str, **_: Any) -> None:
        context["write"] = (event_name.rpartition(".")[2], dict(params))

    def _written(self, http_response: AWSResponse, context: dict[str, Any], **_: Any) -> None:
        if http_response.status_code != 200:
            return
        with self._lock:
            self._waiting.append(context["write"])
            while len(self._waiting) > self._behind:
                self._apply(*self._waiting.pop(0))

    def _apply(self, operation: str, params: dict[str, Any]) -> None:
        if operation == "BatchWriteItem":
            self._plain.batch_write_item(RequestItems={self._replica: params["RequestItems"][self._table]})
        elif operation == "TransactWriteItems":
            moved = [{kind: {**one, "TableName": self._replica} for kind, one in item.items()} for item in params["TransactItems"]]
            self._plain.transact_write_items(TransactItems=moved)  # type: ignore[arg-type]  # what the watched client was given
        else:
            calls: dict[str, Callable[..., Any]] = {
                "PutItem": self._plain.put_item,
                "UpdateItem": self._plain.update_item,
                "DeleteItem": self._plain.delete_item,
            }
            calls[operation](**{**params, "TableName": self._replica})


def _body(request: AWSPreparedRequest) -> bytes:
    assert isinstance(request.body, bytes)
    return request.body


def _half(request: AWSPreparedRequest) -> AWSPreparedRequest:
    ((table, requests),) = json.loads(_body(request))["RequestItems"].items()
    return _batch(request, table, requests[: -(-len(requests) // 2)])


def _batch(request: AWSPreparedRequest, table: str, requests: Sequence[Any]) -> AWSPreparedRequest:
    """The same request with other contents; its signature is wrong now, which no emulator looks at."""
    body = json.dumps({"RequestItems": {table: requests}}).encode()
    headers = HeadersDict({**dict(request.headers.items()), "Content-Length": str(len(body))})
    return AWSPreparedRequest(request.method, request.url, headers, body, False)  # type: ignore[arg-type]  # what it makes itself


def _error(request: AWSPreparedRequest, status: int, code: str) -> AWSResponse:
    if "X-Amz-Target" in request.headers:
        return _answer(request, status, json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "injected"}))
    # S3's own word for too many requests comes with 503
    code, status = ("SlowDown", 503) if status < 500 else ("InternalError", status)
    return _answer(request, status, f"<Error><Code>{code}</Code><Message>injected</Message></Error>")


def _answer(request: AWSPreparedRequest, status: int, body: str) -> AWSResponse:
    raw = urllib3.HTTPResponse(io.BytesIO(body.encode()), preload_content=False)
    return AWSResponse(request.url, status, HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"}), raw)
