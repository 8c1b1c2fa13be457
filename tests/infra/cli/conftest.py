"""A deployment on moto, as the environment names it, and the command line on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader, create_loader
from typer.testing import CliRunner, Result

from functions.settings import Settings, get_settings
from functions.web import create_app
from infra.cli import app
from tests.functions.store.imports.conftest import boto_session, make_origin
from tests.functions.web.test_app import body, client_of
from tests.support.dynamodb import Dynamo, bucket, dynamo, moto_client, moto_endpoint, s3

__all__ = ["boto_session", "bucket", "dynamo", "make_origin", "moto_client", "moto_endpoint", "s3"]


@dataclass(frozen=True)
class Deployment:
    """Its tables, and `agents threads` on them."""

    dynamo: Dynamo
    settings: Settings

    def run(self, *words: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(app, ["threads", *words], input=typed)

    def talk(self, agent: str, *bodies: dict[str, Any]) -> None:
        """Runs over the agent's URL."""

        async def post() -> None:
            async with client_of(create_app(agent, self.settings)) as client:
                for one in bodies:
                    assert (await client.post("/", json=one)).status_code == 200

        asyncio.run(post())

    def items(self) -> list[dict[str, Any]]:
        """Of both tables."""
        scans = [self.dynamo.client.scan(TableName=name)["Items"] for name in self.dynamo.tables.values()]
        return [item for scan in scans for item in scan]


@pytest.fixture(scope="session")
def loader() -> Loader:
    """botocore's models, read once: each command makes clients of its own, as it does for a user."""
    return create_loader()


@pytest.fixture
def deployment(loader: Loader, dynamo: Dynamo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """No data folder, no `.env`; everybody is `local`."""
    prefix = dynamo.tables["threads"].removesuffix("threads")
    monkeypatch.setattr("botocore.session.create_loader", lambda *_: loader)
    monkeypatch.chdir(tmp_path)
    variables = {"AGENTS_DATA_DIR": str(tmp_path / "data"), "AWS_ENDPOINT_URL": dynamo.endpoint, "AGENTS_TABLE_PREFIX": prefix}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    get_settings.cache_clear()
    yield Deployment(dynamo, Settings(auth="none", table_prefix=prefix, offline_delay_ms=0))
    get_settings.cache_clear()


def said(text: str, thread: str, run: str = "r", **more: Any) -> dict[str, Any]:
    return body(text, thread=thread, run=run, **more)
