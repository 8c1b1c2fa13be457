"""The README says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from functions.observing.names import METRICS, OUTCOMES
from functions.settings import Settings
from infra.cli import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_configuration_table_is_the_settings() -> None:
    """Every `AGENTS_` variable with its default, in the class's order, and no other."""
    rows = re.findall(r"^\| `(AGENTS_\w+|OPENAI_MODEL|TUSHARE_TOKEN)` \| (.*?) \| (.+?) \|$", README, re.MULTILINE)
    wanted = [
        (str(field.validation_alias or f"AGENTS_{name.upper()}"), _default(name), str(field.description))
        for name, field in Settings.model_fields.items()
    ]
    assert rows == wanted


def _default(name: str) -> str:
    if name == "auth":
        return "`iam` on AWS, else `none`"
    value = getattr(Settings(), name)
    return f"`{value}`" if value not in ("", {}) else ""


def test_the_metrics_table_is_what_runs_write() -> None:
    """Every metric with its unit, its dimensions and its meaning, in order."""
    rows = re.findall(r"^\| `(\w+)` \| (Count|Milliseconds|Bytes) \| (.+?) \| (.+) \|$", README, re.MULTILINE)
    by = {m.name: " and ".join(", ".join(f"`{name}`" for name in names) for names in m.dimensions) for m in METRICS}
    assert rows == [(m.name, m.unit, by[m.name], m.meaning) for m in METRICS]
    assert all(f"`{outcome}` (" in README for outcome in OUTCOMES)


def test_every_command_is_named() -> None:
    """The table of commands lists what `agents` has, and nothing it has not."""
    named = set(re.findall(r"^\| `agents (\w+)", README, re.MULTILINE))
    command = get_command(app)
    assert named == set(getattr(command, "commands", {}))


def test_its_files_exist() -> None:
    """Pictures and the files it points at are in the repository."""
    for path in [*re.findall(r"\]\((\.github/[^)]+)\)", README), "infra/deployment.py", ".env.example", "graphs/catalog.py"]:
        assert (ROOT / path).is_file(), path
