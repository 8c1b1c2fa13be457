"""`agents check`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.settings import get_settings
from infra.cli import app, checks
from infra.local.listener import bind
from infra.local.lock import lock_folder
from infra.local.variables import data_folder


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own, no AWS, settings read anew."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTS_DATA_DIR", str(tmp_path / "data"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def test_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an ordinary place nothing fails, and the model is named as the offline one."""
    with bind("127.0.0.1", 0) as taken:
        free = taken.getsockname()[1]
    monkeypatch.setattr(checks, "PORT", free)
    result = CliRunner().invoke(app, ["check", "--json"])
    found = {entry["name"]: entry for entry in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert list(found) == ["python", "settings", "model", "agents", "data", "store", "port", "node"]
    assert found["model"]["status"] == "note"
    assert "offline" in found["model"]["detail"]
    assert found["port"]["detail"] == f"port {free} is free"


@pytest.mark.parametrize(
    ("name", "value", "check", "said"),
    [
        ("AGENTS_OFFLINE_DELAY_MS", "soon", checks.check_settings, "AGENTS_OFFLINE_DELAY_MS"),
        ("AGENTS_FUNCTION_URLS", "x", checks.check_settings, "function_urls"),
        ("AGENTS_MODEL", "gpt", checks.check_model, "provider:model"),
        ("AGENTS_MODEL", "openai:gpt-5-mini", checks.check_model, "OPENAI_API_KEY"),
        ("AGENTS_MODEL", "nobody:x", checks.check_model, "nobody"),
    ],
)
def test_failures_say_what_and_how(monkeypatch: pytest.MonkeyPatch, name: str, value: str, check: object, said: str) -> None:
    """A wrong setting, a model without its package or key: named, with a way to mend it."""
    monkeypatch.setenv(name, value)
    assert callable(check)
    result = check()
    assert result.status == "fail"
    assert said in result.detail + result.mend
    assert result.mend


@pytest.mark.parametrize(("field", "other"), [("function_urls", "secrets"), ("secrets", "function_urls")])
def test_a_setting_that_is_no_json_is_named(monkeypatch: pytest.MonkeyPatch, field: str, other: str) -> None:
    """That one, and no other that has to be JSON too."""
    monkeypatch.setenv(f"AGENTS_{field.upper()}", "sk-1")
    result = checks.check_settings()
    said = f"{result.detail} {result.mend}".lower()
    assert (result.status, field in said, other in said) == ("fail", True, False)


def test_a_failing_check_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else on the port is a failure, with the flag that avoids it."""
    with bind("127.0.0.1", 0) as taken:
        monkeypatch.setattr(checks, "PORT", taken.getsockname()[1])
        monkeypatch.setattr(checks, "_answering", list)
        result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    assert "agents dev --port" in result.stdout


def test_a_folder_in_use_is_no_failure() -> None:
    """A running `agents dev` holds its folder; that is as it should be."""
    with lock_folder(data_folder()):
        result = checks.check_data()
    assert result.status == "note"
    assert "in use by process" in result.detail


def test_a_model_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Package and key are enough: the model is made and not called."""
    monkeypatch.setenv("AGENTS_MODEL", "openai:gpt-5-mini")
    Path(".env").write_text("OPENAI_API_KEY=from-the-file\n")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert checks.check_model().status == "ok"


def test_an_agent_that_cannot_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way to mend it; the others work, so it is no failure."""
    assert checks.check_agents().status == "ok"
    monkeypatch.setenv("AGENTS_MODEL", "openai:gpt-5-mini")
    get_settings.cache_clear()
    found = checks.check_agents()
    assert (found.status, "claudeAgent works with anthropic:…" in found.detail) == ("note", True)


def test_the_model_is_the_one_that_workers_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """`AGENTS_MODEL=openai` is completed by `OPENAI_MODEL`, and the settings name that variable as it is."""
    monkeypatch.setenv("AGENTS_MODEL", "openai")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-5-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert checks.check_model().detail.startswith("openai:gpt-5-mini ")
    assert checks.check_settings().detail == "set: AGENTS_MODEL, OPENAI_MODEL"


@pytest.mark.parametrize(
    ("own", "status"),
    [
        ({}, "fail"),
        ({"AWS_PROFILE": "nobody"}, "fail"),
        ({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, "ok"),
        ({"AWS_BEARER_TOKEN_BEDROCK": "t"}, "ok"),
    ],
)
def test_bedrock_needs_an_identity(monkeypatch: pytest.MonkeyPatch, own: dict[str, str], status: str) -> None:
    """The user's own, as a worker gets it; the local store's keys are none. The environment is as before afterwards."""
    monkeypatch.setenv("AGENTS_MODEL", "bedrock_converse:x.y-v1:0")
    monkeypatch.setattr("graphs.models.make_model", lambda name: None)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    assert checks.check_model().status == status
    assert dict(os.environ) == before


def test_the_region_is_found_as_the_store_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`AWS_REGION` alone is enough: the tables are then looked for."""
    for name, value in {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "http://127.0.0.1:9" in checks.check_store().detail


def test_a_wrong_setting_ends_agents_dev(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit code 2 and the setting's name, also where its text is no JSON."""
    monkeypatch.setenv("AGENTS_FUNCTION_URLS", "x")
    result = CliRunner().invoke(app, ["dev", "--port", "0", "--ephemeral"])
    assert result.exit_code == 2
    assert "function_urls" in result.stderr
