"""DynamoDB and S3 in a process of their own, which counts what is asked of them as AWS would bill it, and answers no sooner than AWS."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from functions.store.table import Item, item_bytes
from functions.store.tables import TABLES
from infra.costs.units import index_units, write_units
from tests.support.meter import READS, consistent, found, units_read, unpacked, written

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PREFIX = "agents-"
CALL_SECONDS = 0.008
"""Of a call, as in `agents bench store`."""


class Counted:
    """A WSGI layer over the emulator. `tally` by what is billed, DynamoDB's by table: `writes.checkpoints`, `s3_puts` …"""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._rows: set[tuple[str, str, str]] = set()
        self.tally: Counter[str] = Counter()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        from infra.local.journaled import run

        began = time.perf_counter()
        stream: Any = environ["wsgi.input"]
        body: bytes = stream.read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        with self._lock:
            status, headers, answer = run(self._app, environ)
            if target := environ.get("HTTP_X_AMZ_TARGET"):
                self._dynamodb(target.partition(".")[2], json.loads(body), json.loads(answer))
            else:
                self._s3(environ)
        time.sleep(max(0.0, CALL_SECONDS - (time.perf_counter() - began)))
        start_response(status, headers)
        return [answer]

    def _dynamodb(self, operation: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
        name = body.get("TableName") or next(iter(body.get("RequestItems", {"": None})))
        table = name.removeprefix(PREFIX)
        self.tally["calls"] += 1
        if operation in READS:
            sizes = [item_bytes(unpacked(item)) for item in found(answer)]
            self.tally[f"reads.{table}"] += units_read(operation, sizes, consistent(body))  # type: ignore[assignment]
            return
        sizes = list(written(operation, body))
        if operation == "UpdateItem" and "pk" in answer.get("Attributes", {}):
            # ALL_NEW: the item as it is now, and not only what was set
            sizes = [item_bytes(unpacked(answer["Attributes"]))]
        self.tally[f"writes.{table}"] += sum(write_units(size) for size in sizes)
        if table in TABLES and TABLES[table].local_indexes:
            self.tally[f"writes.{table}"] += self._indexed(table, body, sizes)

    def _indexed(self, table: str, body: dict[str, Any], sizes: list[int]) -> int:
        """A row of `threads` moves in its index whenever it is touched."""
        key: Item = body.get("Key") or body.get("Item") or {}
        row = (table, str(key.get("pk")), str(key.get("sk")))
        known = row in self._rows
        self._rows.add(row)
        return sum(index_units(size, moved=known) for size in sizes) * len(TABLES[table].local_indexes)

    def _s3(self, environ: WSGIEnvironment) -> None:
        method, query = environ["REQUEST_METHOD"], parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        if method in ("PUT", "POST") or "list-type" in query:
            self.tally["s3_puts"] += 1
        elif method in ("GET", "HEAD"):
            self.tally["s3_gets"] += 1


class Wire:
    """`address` is host:port of the store; `taken` is what was counted since it was asked last."""

    def __init__(self, pipe: Connection, address: str) -> None:
        self._pipe = pipe
        self.address = address

    def taken(self) -> Counter[str]:
        self._pipe.send("taken")
        counted: Counter[str] = self._pipe.recv()
        return counted


@contextmanager
def counted_store() -> Iterator[Wire]:
    """The process with its tables and bucket; it ends with the block."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield Wire(here, here.recv())
    finally:
        here.send(None)
        process.join()


def _serve(pipe: Connection) -> None:
    from infra.local.journaled import JournaledApp
    from infra.local.store_process import create, emulator, listen

    counted = Counted(JournaledApp(emulator(), None))
    server = listen(counted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.port}"
    create(address, PREFIX)
    pipe.send(address)
    while pipe.recv():
        taken, counted.tally = counted.tally, Counter()
        pipe.send(taken)
    server.shutdown()
