"""`agents cost`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fastjsonschema
import pytest
from typer.testing import CliRunner

from functions.observing.names import METRICS
from infra.cli import app
from infra.costs.assumptions import Assumptions
from infra.costs.counters import measured_counters
from infra.deployment import DEPLOYABLE

NUMBER = {"type": "number", "minimum": 0}
LINES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["service", "what", "quantity", "unit", "usd"],
        "properties": {"quantity": NUMBER, "usd": NUMBER, "service": {"type": "string"}},
    },
}
CONTAINER = {
    "type": "object",
    "required": ["tasks", "vcpu", "gb", "carried", "database", "databases", "usd", "lines"],
    "properties": {"tasks": {"type": "integer", "minimum": 1}, "usd": NUMBER, "lines": LINES},
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["region", "measured", "assumptions", "snap_start", "per_1000_runs", "months", "break_even_runs_a_month"],
    "properties": {
        "region": {"type": "string"},
        "measured": {"type": "object", "required": ["date", "commit", "machine", "python"]},
        "assumptions": {"type": "object", "additionalProperties": NUMBER},
        "snap_start": {"type": "boolean"},
        "per_1000_runs": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "required": ["usage", "usd", "lines"],
                "properties": {"usage": {"type": "object", "additionalProperties": NUMBER}, "usd": NUMBER, "lines": LINES},
            },
        },
        "months": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["runs", "here", "container_one_zone", "container_two_zones", "first_limit", "limits"],
                "properties": {"runs": NUMBER, "container_one_zone": CONTAINER, "container_two_zones": CONTAINER},
            },
        },
        "break_even_runs_a_month": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
    },
}


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["cost", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def told(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return found


def test_it_covers_what_can_be_deployed() -> None:
    """Every agent has counters, and a run of each has streamed and stored something."""
    counters = measured_counters()
    assert tuple(counters.agents) == DEPLOYABLE
    assert all(run.streamed_bytes and run.writes["checkpoints"] and run.table_bytes for run in counters.agents.values())


def test_an_agents_metrics_are_paid() -> None:
    """Those that a run writes under its agent alone, two of tokens, and four outcomes (three, and a code)."""
    own = [metric for metric in METRICS if metric.dimensions == (("agent",),)]
    assert Assumptions().metrics == len(own) + 2 + 4


def test_the_computed_wait_is_the_measured_one() -> None:
    """Of runs with the simulated model, as far as a shared machine allows."""
    for agent, run in measured_counters().agents.items():
        assert run.check.measured_seconds == pytest.approx(run.check.predicted_seconds, rel=0.35, abs=0.5), agent


def test_the_text() -> None:
    """Three scales, where they meet, limits with their settings, assumptions; at most 100 columns."""
    text = run("--snap-start", "--model-price", "0.25,2")
    assert max(map(len, text.splitlines())) <= 100
    for said in ("1,000,000,000", "They cost the same at", "Concurrent executions", "Assumed", "SnapStart", "as known", *DEPLOYABLE):
        assert said in text


@pytest.mark.parametrize(
    "arguments", [(), ("--region", "eu-central-1"), ("--snap-start", "--runs", "5"), ("--model-price", "1,10", "--agent", "dev")]
)
def test_json_has_its_schema(arguments: tuple[str, ...]) -> None:
    """And each bill is the sum of its lines."""
    found = told(*arguments)
    fastjsonschema.compile(SCHEMA)(found)
    bills = [*found["per_1000_runs"].values(), *(month[way] for month in found["months"] for way in ("here", "container_one_zone"))]
    for bill in bills:
        assert bill["usd"] == pytest.approx(sum(line["usd"] for line in bill["lines"]))


def test_options_change_what_they_name() -> None:
    """Agents, runs, memory, duration: ten seconds with half a GB are five GB-s."""
    found = told("--agent", "kb", "--agent", "dev", "--agent", "kb", "--runs", "7", "--memory", "512", "--seconds", "10")
    assert list(found["per_1000_runs"]) == ["kb", "dev"]
    assert [month["runs"] for month in found["months"]] == [7]
    usage = found["per_1000_runs"]["kb"]["usage"]
    assert (usage["seconds"], usage["memory"]) == (10, 512)


def test_own_prices_and_assumptions(tmp_path: Path) -> None:
    """A file replaces some: here a free Lambda, and a model that answers at once."""
    file = tmp_path / "own.json"
    file.write_text(
        json.dumps({"prices": {"lambda_gb_second": 0, "lambda_request": 0}, "assumptions": {"token_ms": 0, "first_token_ms": 0}})
    )
    found = told("--prices", str(file), "--agent", "kb")
    lines = {line["what"]: line["usd"] for line in found["per_1000_runs"]["kb"]["lines"]}
    assert lines["requests"] == lines["running and starting"] == 0 < lines["writes"]
    assert found["per_1000_runs"]["kb"]["usage"]["waiting_seconds"] == 0


def test_a_picture(tmp_path: Path) -> None:
    """Three lines, the points where they meet, and the scales."""
    file = tmp_path / "pictures" / "cost.svg"
    run("--plot", str(file))
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert (names.count("path"), names.count("circle")) == (3, 2)
    texts = {element.text for element in root.iter()}
    assert {"this project", "container, one zone", "container, two zones", "1,000 M", "$100,000"} <= texts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agent", "nobody"), "nobody"),
        (("--agent", "claudeAgent"), "claudeAgent"),
        (("--region", "mars-1"), "mars-1"),
        (("--memory", "127"), "10,240"),
        (("--memory", "-1"), "10,240"),
        (("--runs", "0"), "--runs"),
        (("--runs", "-5"), "--runs"),
        (("--seconds", "0"), "--seconds"),
        (("--seconds", "901"), "--seconds"),
        (("--model-price", "1"), "--model-price"),
        (("--model-price", "-1,1"), "negative"),
        (("--model-price", "nan,1"), "negative"),
        (("--prices", "/nowhere.json"), "/nowhere.json"),
    ],
)
def test_wrong_options_are_named(arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2, as of the other commands, and nothing on stdout."""
    result = CliRunner().invoke(app, ["cost", *arguments], env={"COLUMNS": "200"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("[]", "neither"),
        ('{"price": {}}', "price"),
        ('{"prices": {"gold": 1}}', "gold"),
        ('{"prices": {"s3_put": -1}}', "s3_put"),
        ('{"prices": 1}', "own.json"),
        ('{"assumptions": {"peak": 0}}', "peak"),
        ('{"assumptions": {"luck": 1}}', "luck"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    """With what is wrong in it."""
    file = tmp_path / "own.json"
    file.write_text(text)
    result = CliRunner().invoke(app, ["cost", "--prices", str(file)], env={"COLUMNS": "300"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
