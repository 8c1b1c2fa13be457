"""What the child processes find in their environment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from infra.local.variables import FunctionVariables, bare, data_folder, user_variables

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
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1"),
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


@pytest.mark.parametrize(
    ("own", "expected", "absent"),
    [
        ({"AWS_PROFILE": "mine", "AWS_REGION": "eu-west-1"}, {"AWS_PROFILE": "mine", "AWS_REGION": "eu-west-1"}, "AWS_ACCESS_KEY_ID"),
        ({"AWS_ACCESS_KEY_ID": "a", "AWS_SESSION_TOKEN": "t"}, {"AWS_ACCESS_KEY_ID": "a", "AWS_SESSION_TOKEN": "t"}, "AWS_CONFIG_FILE"),
        ({"AWS_BEARER_TOKEN_BEDROCK": "b"}, {"AWS_BEARER_TOKEN_BEDROCK": "b", "AWS_ACCESS_KEY_ID": "local"}, "AWS_SHARED_CREDENTIALS_FILE"),
        (
            {"AWS_ENDPOINT_URL_S3": "http://x", "AWS_ENDPOINT_URL": "http://x"},
            {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"},
            "AWS_ENDPOINT_URL",
        ),
        ({"AWS_BEARER_TOKEN_BEDROCK": "b", "AWS_DEFAULT_REGION": "eu-west-1"}, {"AWS_DEFAULT_REGION": "eu-west-1"}, "AWS_REGION"),
        ({"AWS_LAMBDA_FUNCTION_NAME": "x"}, {"AWS_LAMBDA_FUNCTION_NAME": "dev"}, "AWS_EC2_METADATA_DISABLED"),
    ],
)
@pytest.mark.parametrize("provider", ["bedrock", "bedrock_converse"])
def test_bedrock_is_reached_as_the_user(provider: str, own: dict[str, str], expected: dict[str, str], absent: str) -> None:
    """With a model on Bedrock the user's identity and region stay, and only DynamoDB and S3 are local."""
    variables = FunctionVariables(own, bare(own), "127.0.0.1:1", {}, f"{provider}:x.y-v1:0")("dev")
    assert expected.items() <= variables.items()
    assert absent not in variables


def test_dot_env_is_read_under_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provider keys may stand in `.env`; the environment wins."""
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-file\nPATH=/no\n")
    monkeypatch.chdir(tmp_path)
    assert user_variables({"PATH": "/bin"}) == {"OPENAI_API_KEY": "from-file", "PATH": "/bin"}


def test_the_data_folder_may_stand_in_dot_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like every other variable; `~` is the user's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")
    (tmp_path / ".env").write_text("AGENTS_DATA_DIR=~/data\n")
    assert data_folder() == Path("/home/me/data")
    monkeypatch.setenv("AGENTS_DATA_DIR", "/elsewhere")
    assert data_folder() == Path("/elsewhere")
