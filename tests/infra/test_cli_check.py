"""`agents check`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.settings import get_settings
from infra.cli import app, checks
from infra.local.listener import bind
from infra.local.lock import lock_folder
from infra.local.store import data_folder


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
    assert list(found) == ["python", "settings", "model", "data", "store", "port", "node"]
    assert found["model"]["status"] == "note"
    assert "offline" in found["model"]["detail"]
    assert found["port"]["detail"] == f"port {free} is free"


@pytest.mark.parametrize(
    ("name", "value", "check", "said"),
    [
        ("AGENTS_OFFLINE_DELAY_MS", "soon", checks.check_settings, "AGENTS_OFFLINE_DELAY_MS"),
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
