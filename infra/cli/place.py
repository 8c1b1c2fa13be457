"""Where the threads are that a command works on: in the store of a running `agents dev`, else in the tables that the settings name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

    from functions.settings import Settings
    from functions.store.checkpoints import DynamoDBSaver
    from functions.store.threads import Threads

On = Annotated[
    Literal["auto", "dev", "aws"],
    typer.Option("--on", help="dev: the store of a running `agents dev`; aws: the tables that the settings name; auto: what there is."),
]
Principal = Annotated[str | None, typer.Option(help="Whose threads; by default `local`, or on AWS your own identity there.")]
START = "Start it: agents dev"


class NoPlace(Exception):
    """There is no store to work on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """One deployment's tables and bucket. `principal`: whose threads are meant where nobody is named."""

    name: str
    settings: Settings
    client: DynamoDBClient
    objects: S3Client | None
    bucket: str | None
    principal: str

    @property
    def checkpoints_table(self) -> str:
        return f"{self.settings.table_prefix}checkpoints"

    @property
    def threads(self) -> Threads:
        from functions.store.threads import Threads

        return Threads(f"{self.settings.table_prefix}threads", client=self.client, ttl_seconds=self.settings.ttl_seconds)

    @property
    def saver(self) -> DynamoDBSaver:
        """As `functions.web.served` makes it."""
        from functions.store.checkpoints import DynamoDBSaver

        settings = self.settings
        return DynamoDBSaver(
            self.checkpoints_table, client=self.client, bucket=self.bucket, ttl_seconds=settings.ttl_seconds, objects_client=self.objects
        )


def find_place(on: str, principal: str | None) -> Place:
    """Raises `NoPlace`; `pydantic.ValidationError` or `pydantic_settings.SettingsError` for a wrong setting."""
    address = None if on == "aws" or (on == "auto" and _named_endpoint()) else _running_store()
    if on == "dev" and address is None:
        raise NoPlace(f"No `agents dev` runs with the data of {_data_folder()} (with --ephemeral its store cannot be reached). {START}")
    return _on_aws(principal) if address is None else _in_dev(address, principal)


def _named_endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL")


def _data_folder() -> Path:
    from infra.local.variables import data_folder

    return data_folder()


def _running_store() -> str | None:
    """Its host:port; None if none holds the data folder."""
    from infra.local.lock import FolderInUse, lock_folder
    from infra.local.store_process import ADDRESS

    folder = _data_folder()
    if not folder.exists():
        return None
    try:
        lock_folder(folder, patience=0).close()
    except FolderInUse as exc:
        try:
            return (folder / ADDRESS).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise NoPlace(f"{exc}, which does not say where its store is. End it, or name the tables of AWS: --on aws") from None
    return None


def _in_dev(address: str, principal: str | None) -> Place:
    import boto3

    from functions.settings import LOCAL_USER, get_settings
    from functions.store.clients import CONFIG
    from infra.local.store import BUCKET, REGION

    session = boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name=REGION)
    url = f"http://{address}"
    return Place(
        name="agents dev",
        settings=get_settings(),
        client=session.client("dynamodb", endpoint_url=url, config=CONFIG),
        objects=session.client("s3", endpoint_url=url, config=CONFIG),
        bucket=BUCKET,
        principal=principal or LOCAL_USER,
    )


def _on_aws(principal: str | None) -> Place:
    from botocore.exceptions import NoRegionError

    from functions.settings import LOCAL_USER, get_settings
    from functions.store.clients import dynamodb_client

    settings = get_settings()
    try:
        client = dynamodb_client()
    except NoRegionError:
        raise NoPlace(f"No `agents dev` runs, and no AWS region is set. {START}, or set AWS_REGION and AWS_PROFILE.") from None
    nobody = _named_endpoint() is not None if "auth" not in settings.model_fields_set else settings.auth == "none"
    who = principal or (LOCAL_USER if nobody else _caller())
    return Place(client.meta.endpoint_url, settings, client, None, settings.bucket or None, who)


def _caller() -> str:
    """Who calls AWS, as the function URL names them (`functions.web.principal`)."""
    import boto3

    identity: dict[str, str] = boto3.client("sts", region_name=os.environ.get("AWS_REGION")).get_caller_identity()
    return identity["Arn"]


@contextmanager
def explaining() -> Iterator[None]:
    """Ends the command with a sentence and exit code 1 where the store cannot be used, 2 where a setting is wrong."""
    from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from functions.store.errors import StoreError

    try:
        yield
    except (ValidationError, SettingsError) as exc:
        fail(f"A setting is wrong.\n{exc}", code=2)
    except NoCredentialsError:
        fail(f"No `agents dev` runs, and there are no AWS credentials. {START}, or set AWS_PROFILE.")
    except EndpointConnectionError as exc:
        fail(f"{exc} Is it running, and AWS_REGION or AWS_ENDPOINT_URL right?")
    except (NoPlace, StoreError, ClientError, BotoCoreError) as exc:
        fail(str(exc))


def fail(message: str, *, code: int = 1) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)
