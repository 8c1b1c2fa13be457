"""What `agents check` looks at. Each check is one function that says what it found and, if need be, how to mend it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import ValidationError
from pydantic_settings import SettingsError

from functions.settings import Settings, get_settings
from graphs.catalog import AGENTS
from infra.local.listener import PortInUse, bind
from infra.local.lock import FolderInUse, lock_folder
from infra.local.variables import FunctionVariables, bare, data_folder, on_bedrock, user_variables

PORT = 8000


@dataclass(frozen=True, slots=True)
class Result:
    """`ok` works, `note` works but should be known, `fail` does not work; `mend` is what to do then."""

    name: str
    status: Literal["ok", "note", "fail"]
    detail: str
    mend: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def check_python() -> Result:
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] < (3, 15):
        return Result("python", "ok", f"{version} ({sys.executable})")
    return Result("python", "fail", version, "Use Python 3.11 to 3.14.")


def check_settings() -> Result:
    try:
        settings = get_settings()
    except ValidationError as exc:
        wrong = "; ".join(f"{variable(str(error['loc'][0]))}: {error['msg']}" for error in exc.errors())
        return Result("settings", "fail", wrong, "Correct the variable, in the environment or in .env.")
    except SettingsError as exc:
        return Result("settings", "fail", f"{exc} ({exc.__cause__})", "The variable of this field has to be a JSON object.")
    changed = [variable(name) for name in sorted(settings.model_fields_set)]
    return Result("settings", "ok", f"set: {', '.join(changed)}" if changed else "all defaults")


def variable(field: str) -> str:
    """The environment variable of a field of `Settings`; an alias is one already."""
    info = Settings.model_fields.get(field)
    return field if info is None else str(info.validation_alias or f"AGENTS_{field.upper()}")


def check_model() -> Result:
    """Makes the model as a worker does, which needs its package and its key, and asks it nothing."""
    name = _settings().chat_model
    if name == "offline":
        return Result(
            "model", "note", "offline: scripted answers, no real model", "Set AGENTS_MODEL=provider:model and the provider's key."
        )
    try:
        with _as_a_worker(name):
            _make(name)
    except Exception as exc:  # noqa: BLE001 - every provider raises its own; whatever it says is the answer to the question asked
        reason = (str(exc).splitlines() or [type(exc).__name__])[0]
        return Result(
            "model",
            "fail",
            f"{name}: {reason}",
            "Install the provider's extra and set its key, for example OPENAI_API_KEY, or AWS_PROFILE.",
        )
    return Result("model", "ok", f"{name} (package and key are there; it was not called)")


@contextmanager
def _as_a_worker(model: str) -> Iterator[None]:
    """This process with the environment of a worker of `agents dev`."""
    before, user = dict(os.environ), user_variables()
    os.environ.clear()
    os.environ.update(FunctionVariables(user, bare(user, proxies=True), f"127.0.0.1:{PORT}", {}, model)(""))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _make(name: str) -> None:
    from graphs.models import make_model

    make_model(name)
    if on_bedrock(name) and "AWS_BEARER_TOKEN_BEDROCK" not in os.environ:
        # its client looks for an identity only when it is called
        import boto3
        from botocore.exceptions import NoCredentialsError

        if boto3.Session().get_credentials() is None:
            raise NoCredentialsError


def check_agents() -> Result:
    """Which agents can run here."""
    reasons = [reason for spec in AGENTS.values() if (reason := spec.unavailable(_settings().chat_model))]
    if not reasons:
        return Result("agents", "ok", ", ".join(AGENTS))
    return Result("agents", "note", " ".join(reasons), "The others work; `agents dev` shows it as unavailable.")


def check_data() -> Result:
    """The folder `agents dev` keeps its data in."""
    folder = data_folder()
    try:
        with lock_folder(folder, patience=0):
            return Result("data", "ok", str(folder))
    except FolderInUse as exc:
        return Result("data", "note", f"{exc} (a running `agents dev`)")
    except OSError as exc:
        return Result("data", "fail", f"{folder}: {exc}", "Set AGENTS_DATA_DIR to a folder that can be written, or: agents dev --ephemeral")


def check_store() -> Result:
    """The tables on AWS, if this machine has credentials."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    from functions.store.tables import TABLES

    names = [f"{_settings().table_prefix}{key}" for key in TABLES]
    try:
        # as functions.store.clients finds it: boto3 alone reads only AWS_DEFAULT_REGION
        session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
        if session.get_credentials() is None or session.region_name is None:
            return Result("store", "ok", "no AWS credentials or region; `agents dev` brings DynamoDB and S3 of its own")
        client = session.client("dynamodb", config=Config(connect_timeout=3, read_timeout=5, retries={"total_max_attempts": 1}))
        for name in names:
            client.describe_table(TableName=name)
    except (BotoCoreError, ClientError) as exc:
        mend = "Only needed on AWS: cdk deploy makes the tables; AWS_PROFILE, AWS_REGION and AGENTS_TABLE_PREFIX say where they are."
        return Result("store", "note", f"{', '.join(names)}: {exc}", mend)
    return Result("store", "ok", f"{', '.join(names)} in {session.region_name}")


def check_port() -> Result:
    try:
        bind("127.0.0.1", PORT).close()
    except PortInUse as exc:
        if agents := _answering():
            return Result("port", "ok", f"`agents dev` runs on port {PORT}, with {', '.join(agents)}")
        return Result("port", "fail", f"port {PORT} is taken by another program", str(exc).partition("Try: ")[2])
    return Result("port", "ok", f"port {PORT} is free")


def check_node() -> Result:
    node = shutil.which("node")
    if node is None:
        return Result("node", "note", "none found", "Only `cdk` and some tests need Node 20 or newer: `agents test` installs one.")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return Result("node", "ok", f"{version} ({node})")


def _settings() -> Settings:
    """The settings, or the defaults where they are wrong: that is another check's to say."""
    try:
        return get_settings()
    except (ValidationError, SettingsError):
        return Settings.model_construct()


def _answering() -> list[str]:
    """The agents of an `agents dev` on our port; none if it is somebody else's."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{PORT}/config.json", timeout=2) as response:
            return [agent["name"] for agent in json.load(response)["agents"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


CHECKS: tuple[Callable[[], Result], ...] = (
    check_python,
    check_settings,
    check_model,
    check_agents,
    check_data,
    check_store,
    check_port,
    check_node,
)
