"""No metric has an unbounded dimension, and each line is one that CloudWatch takes."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import TokenUsage
from hypothesis import given
from hypothesis import strategies as st

from functions.observing import names
from functions.observing.metrics import known_model, write_metrics
from functions.observing.request import Environment, Observed, trace_root, user_hash
from functions.observing.run import CODES, Seen
from functions.runs.errors import REJECTIONS
from functions.settings import Settings
from functions.store.meter import Meter
from graphs.catalog import AGENTS
from tests.support.emf import points, points_of

FUNCTIONS = Path(__file__).parents[3] / "functions"
MODELS = ("gpt-5", "gpt-5-mini", "offline")
CLOSED = {"agent": set(AGENTS), "outcome": set(names.OUTCOMES), "code": CODES | {names.OTHER}, "model": {*MODELS, names.OTHER}}

ANYTHING = st.text(min_size=1, max_size=40)


@given(
    st.sampled_from(sorted(names.OUTCOMES)),
    st.none() | ANYTHING | st.sampled_from(sorted(CODES)),
    st.lists(st.tuples(ANYTHING | st.sampled_from(MODELS), st.integers(0, 10**9), st.integers(0, 10**9)), max_size=4),
    st.integers(0, 500),
)
def test_dimensions_are_closed_lists(outcome: str, code: str | None, usage: list[tuple[str, int, int]], calls: int) -> None:
    """Whatever a graph calls its error and a provider its model: each value of a dimension is one that is known before."""
    told = [TokenUsage(model=model, input_tokens=read, output_tokens=written) for model, read, written in usage]
    meter = Meter()
    meter.count(calls=calls, written=calls * 10)
    seen = Seen(cold=False, outcome=outcome, code=code, first_event=1.0, duration=2.0, usage=told)
    with redirect_stdout(io.StringIO()) as out:
        write_metrics(Observed(Environment("dev", MODELS)), {"run_id": "r", "thread_id": "t", "user": "u"}, seen, meter)
    found = points_of(out.getvalue())
    assert {(name, value in CLOSED[name]) for point in found for name, value in point.dimensions} <= {(name, True) for name in CLOSED}
    assert {point.name for point in found} <= {metric.name for metric in names.METRICS}
    assert sum(point.value for point in found if point.name == "InputTokens") == sum(read for _, read, _ in usage)


def test_each_line_is_found_by_its_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its dimensions: it has the run's ids, and is in the namespace of its stack."""
    seen = Seen(outcome=names.SUCCESS, usage=[TokenUsage(model="gpt-5", input_tokens=1, output_tokens=2)])
    write_metrics(Observed(Environment("dev", MODELS, names.namespace_of("mine"))), {"run_id": "r", "thread_id": "t"}, seen, Meter())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["run_id"], line["thread_id"]) for line in lines] == [("r", "t")] * 3
    assert {told["Namespace"] for line in lines for told in line["_aws"]["CloudWatchMetrics"]} == {"AgentFunctions/mine"}


@pytest.mark.parametrize(
    ("reported", "model"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gpt-50", names.OTHER),
        ("", names.OTHER),
        ("my-proxy/tenant-17", names.OTHER),
    ],
)
def test_a_dated_model_is_the_one_of_the_settings(reported: str, model: str) -> None:
    """The longest name that it begins with; a proxy's own names are one."""
    assert known_model(reported, MODELS) == model


def _rejections() -> Iterator[str]:
    """The codes that are written where `RunRejected` is made or inherited from."""
    for file in FUNCTIONS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RunRejected":
                yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value.isupper())


def test_every_rejection_is_known() -> None:
    """A new code is no `other`."""
    assert set(_rejections()) <= set(REJECTIONS)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({}, "_aws"),
        ({"CloudWatchMetrics": [{"Namespace": "", "Dimensions": [["a"]], "Metrics": [{"Name": "m", "Unit": "Count"}]}]}, "Namespace"),
        ({"CloudWatchMetrics": [{"Namespace": "n", "Dimensions": [[]], "Metrics": [{"Name": "m", "Unit": "Count"}]}]}, "Dimensions"),
        (
            {"CloudWatchMetrics": [{"Namespace": "n", "Dimensions": [["a"] * 31], "Metrics": [{"Name": "m", "Unit": "Count"}]}]},
            "Dimensions",
        ),
        ({"CloudWatchMetrics": [{"Namespace": "n", "Dimensions": [["a"]], "Metrics": [{"Name": "m", "Unit": "Count"}] * 101}]}, "Metrics"),
        ({"CloudWatchMetrics": [{"Namespace": "n", "Dimensions": [["b"]], "Metrics": [{"Name": "m", "Unit": "Count"}]}]}, "dimension b"),
        ({"CloudWatchMetrics": [{"Namespace": "n", "Dimensions": [["a"]], "Metrics": [{"Name": "x", "Unit": "Count"}]}]}, "metric x"),
    ],
)
def test_the_reading_of_embedded_metrics_is_strict(line: dict[str, Any], fault: str) -> None:
    """What CloudWatch would drop is a failure here: the check can fail."""
    whole = {"_aws": {"Timestamp": 1, **line}, "a": "1", "m": 1} if line else {"a": "1"}
    with pytest.raises(ValueError, match=fault):
        list(points(whole))


@pytest.mark.parametrize(
    ("header", "root"),
    [
        ("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1", "1-5759e988-bd862e3fe1be46a994272793"),
        ("Self=1-67891234-12456789abcdef012345678;Root=1-67891233-abcdef012345678912345678", "1-67891233-abcdef012345678912345678"),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_the_root_of_a_trace_header(header: str, root: str) -> None:
    """https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader"""
    assert trace_root(header) == root


def test_a_caller_is_a_hash() -> None:
    """The same for the same, and nothing of the name."""
    assert user_hash("arn:aws:iam::1:user/anna") == user_hash("arn:aws:iam::1:user/anna") != user_hash("arn:aws:iam::1:user/otto")
    assert "anna" not in user_hash("arn:aws:iam::1:user/anna")


@pytest.mark.parametrize(("given", "level"), [("info", "INFO"), ("WARN", "WARN"), ("TRACE", "DEBUG"), ("FATAL", "FATAL")])
def test_levels_of_lambda_and_of_python(given: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both names work, in the setting and in Lambda's variable; the setting comes first."""
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", given)
    assert Settings().log_level == level
    assert Settings(log_level="ERROR").log_level == "ERROR"


def test_a_wrong_level_is_named() -> None:
    """Not at the first log line."""
    with pytest.raises(ValueError, match="LOUD"):
        Settings(log_level="LOUD")
