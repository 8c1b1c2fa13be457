"""Call boundaries of a process: every DynamoDB and S3 request, before it leaves and after its answer came. One of them can stop it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

Json = dict[str, Any]
KINDS = {"c": "checkpoint", "w": "writes", "p": "chunk", "s": "segment", "l": "lease", "a": "answer", "k": "request", "!": "everything"}
"""By the first letter of a sort key."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """`side` is before or after; `call` what is called on what; `number` counts the calls of that name in the process, from 1."""

    side: str
    call: str
    number: int

    def __str__(self) -> str:
        return f"{self.side} {self.call} #{self.number}"


@dataclass(frozen=True, slots=True)
class Journal:
    """What processes did on one thread: a file that each appends whole lines to, so that a kill loses nothing that was noted."""

    path: Path

    def note(self, what: str, **more: Any) -> None:
        line = json.dumps({"what": what, "pid": os.getpid(), **more}) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def entries(self, *whats: str) -> list[Json]:
        if not self.path.exists():
            return []
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        return [entry for entry in found if not whats or entry["what"] in whats]

    def wait_for(self, what: str, count: int = 1, *, timeout: float = 30.0) -> Json:
        """The `count`th note of the kind, from whichever process."""
        deadline = time.monotonic() + timeout
        while len(found := self.entries(what)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {what!r} in {self.path.name} after {timeout:.0f} s: {self.entries()[-5:]}")
            time.sleep(0.02)
        return found[count - 1]


class Boundaries:
    """Notes the calls of this process's clients, and sends it `signal` at one boundary. Install it before the first call."""

    def __init__(self, journal: Journal, clients: Iterable[DynamoDBClient | S3Client], stop: Boundary | None, signal: int) -> None:
        self._journal, self._stop, self._signal = journal, stop, signal
        self._numbers: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._under_way = threading.local()
        for client in clients:
            client.meta.events.register("before-send", self._before)
            client.meta.events.register("response-received", self._after)

    def _before(self, request: AWSPreparedRequest, event_name: str, **_: Any) -> None:
        call, tasks = _described(request, *event_name.split(".")[1:])
        with self._lock:
            self._numbers[call] += 1
            number = self._numbers[call]
        self._under_way.call = (call, number, tasks)
        self._meet("before")

    def _after(self, **_: Any) -> None:
        self._meet("after")

    def _meet(self, side: str) -> None:
        call, number, tasks = self._under_way.call
        at = Boundary(side, call, number)
        if side == "after":
            self._journal.note("boundary", **asdict(at), tasks=tasks)
        if at == self._stop:
            self._journal.note("stopped", at=str(at))
            os.kill(os.getpid(), self._signal)
        if side == "before":
            self._journal.note("boundary", **asdict(at), tasks=tasks)


def _described(request: AWSPreparedRequest, service: str, operation: str) -> tuple[str, list[str]]:
    """In words, and the tasks whose results it stores."""
    if service == "s3":
        return f"S3 {operation}", []
    assert isinstance(request.body, bytes)
    body = json.loads(request.body)
    keys = _sort_keys(body)
    name = f"{operation} {', '.join(sorted({KINDS.get(key[:1], key[:1]) for key in keys}))}"
    if keys[0].startswith("l") and operation == "UpdateItem":
        name += f" ({_lease_step(body['UpdateExpression'])})"
    return name, _tasks(body)


def _requests(body: Json) -> list[Json]:
    """Of a batch of puts or deletes; of one of gets the keys."""
    ((_, requests),) = body["RequestItems"].items()
    keys = requests["Keys"] if isinstance(requests, dict) else []
    return [{"Key": key} for key in keys] or [next(iter(request.values())) for request in requests]


def _sort_keys(body: Json) -> list[str]:
    places = _requests(body) if "RequestItems" in body else [body]
    found = [place.get("Key") or place.get("Item") for place in places]
    return [str(place["sk"]["S"] if place else body["ExpressionAttributeValues"][":low"]["S"]) for place in found]


def _tasks(body: Json) -> list[str]:
    values = body.get("ExpressionAttributeValues", {})
    puts = _requests(body) if "RequestItems" in body else [body]
    whole = [item["tid"]["S"] for item in (put.get("Item", {}) for put in puts) if "w0" in item]
    return [*whole, *([values[":tid"]["S"]] if ":w0" in values else [])]


def _lease_step(expression: str) -> str:
    if "fence" in expression:
        return "take over" if "epoch" in expression else "take"
    return "give back" if expression.startswith("REMOVE") else "beat"
