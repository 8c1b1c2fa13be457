"""What the child processes find in their environment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from infra.local.variables import FunctionVariables, bare, user_variables

USER = {
    "PATH": "/bin",
    "AWS_PROFILE": "mine",
    "AWS_CONFIG_FILE": "/home/me/.aws/config",
    "PYTHONDONTWRITEBYTECODE": "1",
    "AWS_SESSION_TOKEN": "secret",
    "AGENTS_AUTH": "iam",
    "AGENTS_MODEL": "openai:gpt",
    "OPENAI_API_KEY": "key",
    "https_proxy": "http://proxy",
    "NO_PROXY": "corp",
}


@pytest.mark.parametrize(
    ("proxies", "name", "expected"),
    [
        (False, "PATH", "/bin"),
        (False, "OPENAI_API_KEY", "key"),
        (False, "AWS_PROFILE", None),
        (False, "AWS_SESSION_TOKEN", None),
        (False, "AWS_CONFIG_FILE", os.devnull),
        (False, "AWS_SHARED_CREDENTIALS_FILE", os.devnull),
        (False, "PYTHONDONTWRITEBYTECODE", None),
        (False, "AGENTS_AUTH", None),
        (False, "https_proxy", None),
        (True, "https_proxy", "http://proxy"),
        (True, "NO_PROXY", "corp,127.0.0.1,localhost,::1"),
        (False, "no_proxy", "127.0.0.1,localhost,::1"),
    ],
)
def test_bare(proxies: bool, name: str, expected: str | None) -> None:
    """Nothing that leads to AWS or to a proxy of the store; provider keys stay, proxies only for a real model."""
    assert bare(USER, proxies=proxies).get(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AGENTS_NAME", "dev"),
        ("AGENTS_AUTH", "none"),
        ("AGENTS_MODEL", "openai:gpt"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("_HANDLER", "functions.entry.app"),
        ("AWS_LAMBDA_FUNCTION_NAME", "dev"),
    ],
)
def test_function_variables(name: str, expected: str) -> None:
    """A function gets Lambda's variables, the local store, and the user's own settings but for who may call."""
    variables = FunctionVariables(USER, bare(USER), "127.0.0.1:1", {"dev": "http://x/agents/dev/"})("dev")
    assert variables[name] == expected
    assert json.loads(variables["AGENTS_FUNCTION_URLS"]) == {"dev": "http://x/agents/dev/"}


def test_dot_env_is_read_under_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provider keys may stand in `.env`; the environment wins."""
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-file\nPATH=/no\n")
    monkeypatch.chdir(tmp_path)
    assert user_variables({"PATH": "/bin"}) == {"OPENAI_API_KEY": "from-file", "PATH": "/bin"}
