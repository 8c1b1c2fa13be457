"""Secrets in a moto server's Secrets Manager and Parameter Store: when they are read, how a new value comes, and that they never show."""

from __future__ import annotations

import io
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from functions import logs
from functions.secrets import Secrets, SecretUnavailable
from functions.settings import Settings
from functions.web import create_app
from tests.functions.web.test_app import body, client_of
from tests.support.chat_wire import Wire, chat_wire
from tests.support.dynamodb import moto_endpoint
from tests.support.process_logs import process_logs
from tests.support.sse import read_sse

__all__ = ["moto_endpoint"]

KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Vault:
    """Both services, with names of this test's own."""

    secrets: Any
    parameters: Any
    name: str

    def keep(self, value: str | bytes) -> str:
        """A secret of Secrets Manager → its ARN."""
        given = {"SecretString": value} if isinstance(value, str) else {"SecretBinary": value}
        return str(self.secrets.create_secret(Name=self.name, **given)["ARN"])

    def rotate(self, value: str) -> None:
        self.secrets.put_secret_value(SecretId=self.name, SecretString=value)

    def keep_parameter(self, value: str) -> str:
        """An encrypted parameter → its name."""
        self.parameters.put_parameter(Name=f"/{self.name}", Value=value, Type="SecureString", Overwrite=True)
        return f"/{self.name}"


@pytest.fixture(scope="module")
def clients(moto_endpoint: str) -> tuple[Any, Any]:
    return boto3.client("secretsmanager", endpoint_url=moto_endpoint), boto3.client("ssm", endpoint_url=moto_endpoint)


@pytest.fixture
def vault(moto_endpoint: str, clients: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_endpoint)
    for name in (KEY, "OPENAI_BASE_URL"):  # set and deleted, so that what a test exports goes with it
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(logs, "_HIDDEN", set())
    return Vault(*clients, f"agents-{uuid.uuid4().hex}")


@pytest.fixture
def wire(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """The model provider."""
    with chat_wire() as served:
        served.streams([{"role": "assistant", "content": "Hello."}])
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        yield served


class Later(datetime):
    """The clock of powertools' cache, moved on."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + timedelta(seconds=300)


SOURCES: dict[str, Callable[[Vault], str]] = {
    "a secret by its ARN": lambda v: v.keep("sk-value"),
    "a secret by its name": lambda v: v.keep("sk-value") and v.name,
    "an entry of a JSON secret": lambda v: v.keep(json.dumps({KEY: "sk-value", "OTHER": "x"})),
    "a parameter": lambda v: v.keep_parameter("sk-value"),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_secret_is_read_from_where_it_is(vault: Vault, source: Callable[[Vault], str]) -> None:
    """Secrets Manager by ARN or name, also of the JSON that its console makes; Parameter Store, decrypted."""
    assert Secrets({KEY: source(vault)}, 300).read() == {KEY: "sk-value"}


def test_a_secret_that_is_json_of_another_kind_is_its_own_value(vault: Vault) -> None:
    """A number or a list is no object with entries."""
    assert Secrets({KEY: vault.keep("12345")}, 300).read() == {KEY: "12345"}


def test_a_new_value_is_read_when_the_old_one_is_too_old(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then AWS is not asked again."""
    secrets = Secrets({KEY: vault.keep("sk-old")}, 300)
    assert secrets.read() == {KEY: "sk-old"}
    vault.rotate("sk-new")
    assert secrets.read() == {KEY: "sk-old"}
    monkeypatch.setattr("aws_lambda_powertools.utilities.parameters.base.datetime", Later)
    assert secrets.read() == {KEY: "sk-new"}


UNREADABLE: dict[str, tuple[Callable[[Vault], str], str]] = {
    "no secret": (lambda v: "nobody", "ResourceNotFoundException"),
    "no parameter": (lambda v: "/nobody", "ParameterNotFound"),
    "bytes": (lambda v: v.keep(b"\x00\x01"), "no text"),
    "an object without the entry": (lambda v: v.keep('{"OTHER": "sk-other"}'), "under 'OPENAI_API_KEY'"),
    "an object in the entry": (lambda v: v.keep(json.dumps({KEY: {"value": "sk-other"}})), "under 'OPENAI_API_KEY'"),
}


@pytest.mark.parametrize(("source", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_named(vault: Vault, source: Callable[[Vault], str], reason: str) -> None:
    """The variable, the place and the reason; nothing of what is there."""
    with pytest.raises(SecretUnavailable, match=reason) as failed:
        Secrets({KEY: source(vault)}, 300).read()
    assert KEY in str(failed.value)
    assert "sk-other" not in str(failed.value)


def test_a_value_stays_when_it_cannot_be_read_again(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    """An outage of Secrets Manager stops no agent that works; the log says so."""
    secrets = Secrets({KEY: vault.keep("sk-value")}, 0)
    assert secrets.read() == {KEY: "sk-value"}
    vault.secrets.delete_secret(SecretId=vault.name, ForceDeleteWithoutRecovery=True)
    assert secrets.read() == {KEY: "sk-value"}
    assert f"{KEY} stays as it was" in caplog.text
    assert "sk-value" not in caplog.text


def test_a_clone_of_a_snapshot_reads_anew(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before the snapshot may be weeks old when a clone of it starts, and its connections are dead."""
    hooks: list[Callable[[], None]] = []
    registry = ModuleType("snapshot_restore_py")
    registry.__spec__ = SimpleNamespace(name=registry.__name__)  # type: ignore[assignment]
    registry.register_after_restore = hooks.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    secrets = Secrets({KEY: vault.keep("sk-old")}, 300)
    assert secrets.read() == {KEY: "sk-old"}
    vault.rotate("sk-new")
    [hook] = hooks
    hook()
    assert secrets.read() == {KEY: "sk-new"}


@pytest.mark.parametrize(
    ("secrets", "named"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "x"}, "AWS_SECRET_ACCESS_KEY"),
        ({"LAMBDA_TASK_ROOT": "x"}, "LAMBDA_TASK_ROOT"),
        ({"sk-1234": "x"}, "sk-1234"),
        ({KEY: ""}, KEY),
        ({KEY: "arn:aws:s3:::bucket"}, "arn:aws:s3:::bucket"),
        ({KEY: "arn:aws:ssm:eu-west-1:123456789012:document/x"}, "document/x"),
    ],
)
def test_a_wrong_source_is_named_at_the_start(secrets: dict[str, str], named: str) -> None:
    """A typing error ends the init, and is not found at the first run."""
    with pytest.raises(ValueError, match=named):
        Settings(secrets=secrets)


def test_a_secret_may_be_a_setting() -> None:
    """`AGENTS_…` reaches the parts through the settings; other variables are their owners'."""
    given = {"AGENTS_BUCKET": "b", "AGENTS_TTL_DAYS": "7", "AGENTS_UNKNOWN": "x", "TUSHARE_TOKEN": "t", KEY: "k"}
    settings = Settings(ttl_days=1).overlaid(given)
    assert (settings.bucket, settings.ttl_days, settings.tushare_token) == ("b", 7, "t")


# -- a whole agent


def agent(vault: Vault, **more: Any) -> Any:
    settings = Settings(auth="none", model="openai:wire", secrets={KEY: vault.name}, secrets_max_age_seconds=0, **more)
    return create_app("reactAgent", settings, checkpointer=InMemorySaver())


async def run(client: Any, number: int) -> list[dict[str, Any]]:
    answer = await client.post("/", json=body(f"hello {number}", run=f"r{number}"))
    assert answer.status_code == 200
    events = read_sse(answer.content)
    assert (events[0]["type"], events[0]["runId"]) == ("RUN_STARTED", f"r{number}")
    return events


async def test_a_rotated_key_reaches_a_warm_function(vault: Vault, wire: Wire) -> None:
    """The provider sees the old key, then the new one; the thread goes on, and a key that did not change builds nothing anew."""
    vault.keep("sk-the-old-one")
    async with client_of(agent(vault)) as client:
        assert [(await run(client, number))[-1]["type"] for number in (1, 2)] == ["RUN_FINISHED"] * 2
        vault.rotate("sk-the-new-one")
        assert (await run(client, 3))[-1]["type"] == "RUN_FINISHED"
        said = (await client.get("/threads/t/messages")).json()["messages"]
    assert [asked["authorization"] for asked in wire.headers] == ["Bearer sk-the-old-one"] * 2 + ["Bearer sk-the-new-one"]
    assert [message["content"] for message in said if message["role"] == "user"] == ["hello 1", "hello 2", "hello 3"]


async def test_a_missing_secret_is_said_on_the_stream(vault: Vault, wire: Wire) -> None:
    """The app starts without it and shows threads; a run ends in SECRET_UNAVAILABLE; once the secret is there, the next run works."""
    async with client_of(agent(vault)) as client:
        assert (await client.get("/health")).status_code == 200
        assert (await client.post("/connect", json={"threadId": "t"})).status_code == 200
        failed = (await run(client, 1))[-1]
        assert (failed["type"], failed["code"], failed["metadata"]) == ("RUN_ERROR", "SECRET_UNAVAILABLE", {"name": "SecretUnavailable"})
        assert wire.asked == []
        vault.keep("sk-at-last-there")
        assert (await run(client, 2))[-1]["type"] == "RUN_FINISHED"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What CloudWatch would get."""
    with process_logs(Settings(log_level="DEBUG"), monkeypatch) as stream:
        yield stream


async def test_no_log_line_shows_a_key(vault: Vault, wire: Wire, printed: io.StringIO) -> None:
    """Also not that of a provider which repeats the key it refuses, with quotes and line ends in it; the failure itself is logged."""
    key = 'sk-"quoted"-\\-0123456789'
    vault.keep(key)
    wire.status, wire.answer = 401, {"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}}
    async with client_of(agent(vault)) as client:
        assert (await run(client, 1))[-1]["code"] == "LLM_AUTH_FAILED"
    lines = printed.getvalue()
    assert "run failed: LLM_AUTH_FAILED" in lines
    assert "Incorrect API key provided: " in lines
    assert "0123456789" not in lines
    assert [json.loads(line)["level"] for line in lines.splitlines()]
