"""claudeAgent's part: which Claude, which folder, which tools, and what of this process its CLI may know."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from functions.parts.claude import ROOT, make
from functions.settings import ON_AWS, Settings


def test_offline_the_model_is_behind_loopback() -> None:
    """Opened when it is first asked for, one for the process."""
    setup = make(Settings(offline_delay_ms=0))
    variables = setup.environment()
    assert variables["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    assert setup.environment() == variables
    assert (setup.folder, setup.model) == (ROOT, None)
    asked = httpx.post(f"{variables['ANTHROPIC_BASE_URL']}/v1/messages", json={"messages": [{"role": "user", "content": "count to 3"}]})
    assert '"text": " 2"' in asked.text


@pytest.mark.parametrize(
    ("model", "name", "bedrock"),
    [("anthropic:claude-x", "claude-x", False), ("bedrock:anthropic.claude-v1:0", "anthropic.claude-v1:0", True)],
)
def test_a_real_model(model: str, name: str, bedrock: bool) -> None:
    """Its name goes to the CLI, which finds its key by itself."""
    setup = make(Settings(model=model))
    assert setup.model == name
    assert ("CLAUDE_CODE_USE_BEDROCK" in setup.environment()) == bedrock


@pytest.mark.parametrize(("model", "kept"), [("anthropic:claude-x", False), ("offline", False), ("bedrock:x", True)])
def test_the_functions_identity_is_its_own(model: str, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Lambda the CLI gets the role's credentials only where it calls Bedrock with them."""
    monkeypatch.setenv(ON_AWS, "f")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    assert ("AWS_SESSION_TOKEN" not in make(Settings(model=model)).environment()) == kept
    assert make(Settings(model=model)).environment().get("AWS_SESSION_TOKEN", "") == ""


@pytest.mark.parametrize(
    ("allowed", "tools"),
    [("Read,Grep,Glob,Bash", ("Read", "Grep", "Glob", "Bash")), (" Read , Glob", ("Read", "Glob")), ("", ()), ("Write,Read", ("Read",))],
)
def test_the_tools_that_need_no_approval(allowed: str, tools: tuple[str, ...]) -> None:
    """Of those that it has; it cannot be given one that it has not."""
    assert make(Settings(claude_allowed=allowed)).allowed == tools


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written, or under the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert make(Settings(claude_folder="~/code")).folder == tmp_path / "code"
