"""What a deployment is told, and what it says of an agent that Lambda cannot take."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from graphs.catalog import AGENTS
from infra import bundle
from infra.deployment import DEPLOYABLE, Deployment, extras_of


def test_an_agent_that_needs_an_image_is_left_out() -> None:
    """By default, since only Docker makes one; who names it gets it."""
    assert set(AGENTS) - set(DEPLOYABLE) == {"claudeAgent"}
    assert Deployment.model_validate({}).agents == DEPLOYABLE
    assert Deployment.model_validate({"agents": "dev,claudeAgent"}).agents == ("dev", "claudeAgent")


CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d-0000-0000-0000-0a1b2c3d4e5f"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/0a1b2c3d-0000-0000-0000-0a1b2c3d4e5f"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/agents/claude"
OPEN_SITE = {"site": "true", "auth": "none"}
ACCEPTED: dict[str, dict[str, str]] = {
    "an open site": OPEN_SITE,
    "a site with tokens": {"site": "true", "auth": "jwt", "jwt_issuer": "https://id.example", "jwt_audience": "agents"},
    "a domain": OPEN_SITE | {"domain": "agents.example.com", "certificate": CERTIFICATE},
    "a domain with its records": OPEN_SITE | {"domain": "agents.example.com", "certificate": CERTIFICATE, "hosted_zone": "Z0123ABC"},
    "a key for the secrets": {"secrets": '{"OPENAI_API_KEY": "openai"}', "kms_keys": KEY},
    "variables of no option": {"environment": '{"AGENTS_EVENTS_HOURS": "0", "AGENTS_FLUSH_SECONDS": "0.5", "LANGSMITH_PROJECT": "p"}'},
    "an image by its tag": {"agents": "claudeAgent", "images": f'{{"claudeAgent": "{IMAGE}:1"}}'},
    "an image by its digest": {"agents": "claudeAgent", "images": f'{{"claudeAgent": "{IMAGE}@sha256:{"0a" * 32}"}}'},
}
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "the IAM identity behind CloudFront": ({"site": "true"}, "all its visitors would be one caller.*Use auth jwt"),
    "a domain without CloudFront": ({"domain": "agents.example.com", "certificate": CERTIFICATE}, "set site to true"),
    "a domain without its certificate": (OPEN_SITE | {"domain": "agents.example.com"}, "domain and certificate go together"),
    "a certificate without its domain": (OPEN_SITE | {"certificate": CERTIFICATE}, "domain and certificate go together"),
    "a certificate that CloudFront does not see": (
        OPEN_SITE | {"domain": "agents.example.com", "certificate": CERTIFICATE.replace("us-east-1", "eu-west-1")},
        "us-east-1",
    ),
    "a URL as domain": (OPEN_SITE | {"domain": "https://agents.example.com/", "certificate": CERTIFICATE}, "is no host name"),
    "records of nothing": (OPEN_SITE | {"hosted_zone": "Z0123ABC"}, "name the domain"),
    "a zone by its name": (
        OPEN_SITE | {"domain": "agents.example.com", "certificate": CERTIFICATE, "hosted_zone": "example.com"},
        "begins with Z",
    ),
    "a key for nothing": ({"kms_keys": KEY}, "nothing that they would decrypt"),
    "a key's alias": ({"secrets": '{"A": "a"}', "kms_keys": "arn:aws:kms:eu-west-1:123456789012:alias/a"}, "an alias does not do"),
    "a variable that an option sets": ({"environment": '{"AGENTS_AUTH": "none"}'}, "use the option `auth`"),
    "a variable of Lambda's": ({"environment": '{"AWS_REGION": "x"}'}, "Lambda has it for itself"),
    "a secret in the open": ({"environment": '{"LANGSMITH_API_KEY": "x"}'}, 'secrets": {"LANGSMITH_API_KEY"'),
    "a setting misspelt": ({"environment": '{"AGENTS_EVENT_HOURS": "1"}'}, "is it AGENTS_EVENTS_HOURS"),
    "a setting's wrong value": ({"environment": '{"AGENTS_EVENTS_HOURS": "-1"}'}, "AGENTS_EVENTS_HOURS cannot be '-1'"),
    "an image of nobody": ({"agents": "dev", "images": f'{{"claudeAgent": "{IMAGE}:1"}}'}, "not among the agents"),
    "an image elsewhere": ({"agents": "claudeAgent", "images": '{"claudeAgent": "docker.io/agents/claude:1"}'}, "no image in ECR"),
    "an image without a version": ({"agents": "claudeAgent", "images": f'{{"claudeAgent": "{IMAGE}"}}'}, "no image in ECR"),
}


@pytest.mark.parametrize("context", ACCEPTED.values(), ids=ACCEPTED)
def test_what_goes_together(context: dict[str, str]) -> None:
    """As the command line hands it over: everything a string."""
    Deployment.model_validate(context)


@pytest.mark.parametrize(("context", "said"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused_with_a_way_out(context: dict[str, str], said: str) -> None:
    """Before anything is made; above all, that all visitors of the page would be one user."""
    with pytest.raises(ValidationError, match=said):
        Deployment.model_validate(context)


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
