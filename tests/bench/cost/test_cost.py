"""Where the counters of `agents cost` come from, and where they are shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from infra.cli import app
from infra.costs.plot import svg
from infra.deployment import DEPLOYABLE
from tests.bench.cost import readme
from tests.bench.cost.measure import checked, measure
from tests.bench.cost.talks import TALKS
from tests.bench.cost.wire import Counted

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ROW = {"pk": {"S": "u"}, "sk": {"S": "t"}}


def test_readme_shows_what_the_command_prints() -> None:
    """Tables, break-even and limits, to the letter; and its picture is that of the same figures.

    `python -m tests.bench.cost --keep` makes both anew.
    """
    shown = readme.shown(readme.README.read_text(encoding="utf-8"))
    assert shown == readme.block(readme.report())
    printed = CliRunner().invoke(app, ["cost"]).stdout
    for part in shown.strip("`\n").split("\n\n"):
        assert part in printed
    assert readme.PICTURE.read_text(encoding="utf-8") == svg(readme.report())


def test_every_agent_has_a_conversation() -> None:
    """That can be deployed."""
    assert set(TALKS) == set(DEPLOYABLE)


def counted(*requests: tuple[str, dict[str, Any], dict[str, Any]]) -> Counter[str]:
    """Operations of DynamoDB with their bodies and the answers that the store gives."""
    answers = [answer for _, _, answer in requests]

    def store(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [json.dumps(answers.pop(0)).encode()]

    layer = Counted(store)
    for operation, body, _ in requests:
        _ask(layer, json.dumps(body).encode(), HTTP_X_AMZ_TARGET=f"DynamoDB_20120810.{operation}")
    return layer.tally


def _ask(layer: Counted, body: bytes, **environ: str) -> Sequence[bytes]:
    from werkzeug.test import EnvironBuilder

    made = EnvironBuilder(method="POST", data=body).get_environ()
    made |= {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body)), **environ}
    return list(layer(made, lambda *_: lambda _: None))


TOUCH: tuple[str, dict[str, Any], dict[str, Any]] = (
    "UpdateItem",
    {"TableName": "agents-threads", "Key": ROW, "ExpressionAttributeValues": {":t": {"S": "x"}}},
    {"Attributes": {**ROW, "title": {"S": "x" * 1_100}}},
)


@pytest.mark.parametrize(
    ("requests", "tally"),
    [
        ([("PutItem", {"TableName": "agents-checkpoints", "Item": {**ROW, "v": {"B": "QUFB" * 400}}}, {})], {"writes.checkpoints": 2}),
        ([("GetItem", {"TableName": "agents-checkpoints", "Key": ROW, "ConsistentRead": True}, {})], {"reads.checkpoints": 1}),
        ([("GetItem", {"TableName": "agents-checkpoints", "Key": ROW}, {"Item": ROW})], {"reads.checkpoints": 0.5}),
        (
            [
                (
                    "BatchGetItem",
                    {"RequestItems": {"agents-checkpoints": {"Keys": [ROW] * 3, "ConsistentRead": True}}},
                    {"Responses": {"agents-checkpoints": [ROW] * 3}},
                )
            ],
            {"reads.checkpoints": 3},
        ),
        # two units each for the row as it is now, in the table and in its index; the second time it moves there
        ([TOUCH], {"writes.threads": 4}),
        ([TOUCH, TOUCH], {"writes.threads": 10}),
        (
            [("BatchWriteItem", {"RequestItems": {"agents-checkpoints": [{"PutRequest": {"Item": ROW}}] * 3}}, {})],
            {"writes.checkpoints": 3},
        ),
    ],
)
def test_the_store_counts_as_dynamodb_bills(requests: list[Any], tally: dict[str, float]) -> None:
    """By table, with its index."""
    assert counted(*requests) == {"calls": len(requests), **tally}


@pytest.mark.parametrize(
    ("method", "query", "counts"),
    [
        ("PUT", "", "s3_puts"),
        ("GET", "", "s3_gets"),
        ("HEAD", "", "s3_gets"),
        ("GET", "list-type=2&prefix=a", "s3_puts"),
        ("DELETE", "", ""),
    ],
)
def test_the_store_counts_as_s3_bills(method: str, query: str, counts: str) -> None:
    """A list costs what a PUT costs, a deletion nothing."""

    def store(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [b""]

    layer = Counted(store)
    _ask(layer, b"", REQUEST_METHOD=method, QUERY_STRING=query)
    assert layer.tally == ({counts: 1} if counts else {})


@pytest.mark.long
@pytest.mark.timeout(400)  # three cold starts, and a model of 50 ms a token
async def test_an_agent_is_measured(tmp_path: Path) -> None:
    """From end to end: `dev` asks four questions and is answered in six runs; what is measured is what the command reads."""
    found = checked(await measure(1, ["dev"]))
    run = found["agents"]["dev"]
    assert (run["runs"], run["model_calls"], run["s3_gets"]) == (6, 0, 0)
    assert run["writes"]["checkpoints"] > 0
    assert run["writes"]["threads"] > 2
    assert run["table_bytes"] > 500
    assert 50 < found["per_token"]["streamed_bytes"] < 500
    # a batch of events, half a unit for a look, a tenth for a beat
    second = found["per_second"]
    assert 0.5 < second["writes"]["events"] < 1.5
    assert 0.2 < second["reads"]["checkpoints"] < 0.8
