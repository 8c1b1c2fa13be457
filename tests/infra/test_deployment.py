"""What a deployment is told, and what it says of an agent that Lambda cannot take."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from graphs.catalog import AGENTS
from infra import bundle
from infra.deployment import DEPLOYABLE, Deployment, extras_of


def test_an_agent_that_is_too_large_is_left_out() -> None:
    """By default; who names it reads why it cannot be."""
    assert set(AGENTS) - set(DEPLOYABLE) == {"claudeAgent"}
    assert Deployment.model_validate({}).agents == DEPLOYABLE
    with pytest.raises(ValidationError, match="claudeAgent cannot be deployed: the bundle is over the 250 MB"):
        Deployment.model_validate({"agents": "dev,claudeAgent"})


def test_its_extra_is_its_own() -> None:
    """No other bundle carries the SDK, whatever the model."""
    assert extras_of("anthropic:x", "claudeAgent") == ("anthropic", "claude")
    assert [name for name in AGENTS if "claude" in extras_of("offline", name)] == ["claudeAgent"]


def test_a_bundle_over_the_limit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It is built, for a container image, and the log says that a zip cannot hold it."""
    monkeypatch.setattr(bundle, "build", lambda agent, out, **_: True)
    monkeypatch.setattr(bundle, "size_of", lambda _: bundle.ZIP_LIMIT + 1)
    with caplog.at_level(logging.INFO):
        bundle.main(["claudeAgent", "--out", str(tmp_path)])
    assert "claudeAgent: Lambda takes 250 MiB from a zip" in caplog.text


def test_programs_of_a_bundle_can_be_run(tmp_path: Path) -> None:
    """The SDK's command line and our bootstrap, and no other file."""
    for name in (*bundle._PROGRAMS, Path("x.py")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    bundle._settle_modes(tmp_path)
    assert {p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_mode & 0o100} == set(bundle._PROGRAMS)


@pytest.mark.parametrize("embeddings", ["openai:text-embedding-3-small", "bedrock:amazon.titan-embed-text-v2:0", "nonsense"])
def test_an_embedding_model_that_could_not_work_is_refused(embeddings: str) -> None:
    """Where the functions would have no key for it, or no client: here the chat model is offline."""
    with pytest.raises(ValidationError, match="embeddings"):
        Deployment.model_validate({"embeddings": embeddings})
    assert Deployment.model_validate({"embeddings": "hashing"}).embeddings == "hashing"
