"""What of a thread is copied, what is left out, and what a second run does."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from langgraph.types import Command

from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import CONFIG
from functions.store.imports.foreign import Sealed, Write
from functions.store.imports.reading import in_one_call
from tests.functions.store.conftest import MakeSaver
from tests.functions.store.imports.conftest import MakeOrigin, Origin
from tests.functions.store.imports.test_graphs import AT, bring, told
from tests.support import graphs
from tests.support.checkpoints import config, put
from tests.support.dynamodb import REGION, Dynamo

Ids = list[str]


def ids(saver: Any) -> Ids:
    """Of all checkpoints of the thread, the newest first."""
    return [found.config["configurable"]["checkpoint_id"] for found in saver.list(config("t", None))]


def id_of(at: Any) -> str:
    return str(at["configurable"]["checkpoint_id"])


# writes


@pytest.mark.parametrize("kind", ["aws", "dynamodb"])
def test_writes_keep_their_order(make_origin: MakeOrigin, saver: DynamoDBSaver, kind: str) -> None:
    """Twelve writes of a task come in the order they were made in (both savers give 0, 1, 10, 11, 2 …); tasks by their path."""
    origin = make_origin(kind)
    at = put(origin.saver, config("t"))
    paths = [("~b",), ("~a",)] if kind == "aws" else [(), ()]
    for task, path in zip("xy", paths, strict=True):
        origin.saver.put_writes(at, [("log", f"{task}{number}") for number in range(12)], task, *path)
    bring(origin, saver)
    found = saver.get_tuple(AT)
    assert found is not None
    tasks = "yx" if kind == "aws" else "xy"
    assert [value for _, _, value in found.pending_writes or ()] == [f"{task}{number}" for task in tasks for number in range(12)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([(10, "a"), (2, "b"), (0, "c")], "cba"),
        ([(0, "a"), (-3, "__interrupt__"), (1, "b")], "ab_"),
        ([(-1, "__error__"), (1, "b"), (2, "c")], "_bc"),
        ([(0, "__resume__"), (1, "b")], "_b"),
        ([(3, "a"), (5, "b")], "ab"),
        ([(-4, "__resume__")], "_"),
        ([], ""),
    ],
)
def test_positions(found: list[tuple[int, str]], expected: str) -> None:
    """A regular write lies at its position again; special ones, which have slots of their own, fill what would be a gap."""
    ordered = in_one_call([Write("task", "", position, channel, Sealed("null", b"")) for position, channel in found])
    assert "".join(write.channel[0] for write in ordered) == expected


# values


@dataclass
class Cart:
    items: int


def test_values_are_not_opened(aws: Origin, saver: DynamoDBSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of the application comes over whole where that application is not installed, in the state, a write and the metadata."""
    shop = ModuleType("shop")
    monkeypatch.setitem(sys.modules, "shop", shop)
    shop.Cart = Cart  # type: ignore[attr-defined]
    monkeypatch.setattr(Cart, "__module__", "shop")
    at = put(aws.saver, config("t"), {"cart": Cart(3), "more": {1: [b"", None]}}, note={"cart": Cart(4)})
    aws.saver.put_writes(at, [("cart", [Cart(5)]), ("none", None), ("bytes", b"\xff")], "task")
    monkeypatch.delitem(sys.modules, "shop")
    bring(aws, saver)
    monkeypatch.setitem(sys.modules, "shop", shop)
    found = saver.get_tuple(AT)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"cart": Cart(3), "more": {1: [b"", None]}}
    assert found.metadata["note"] == {"cart": Cart(4)}  # type: ignore[typeddict-item]
    assert [value for _, _, value in found.pending_writes or ()] == [[Cart(5)], None, b"\xff"]


# what is left out


@pytest.mark.parametrize("kind", ["aws", "aws-s3"])
def test_expired_rows_are_left_out(make_origin: MakeOrigin, saver: DynamoDBSaver, kind: str) -> None:
    """What DynamoDB has not removed yet stays where it is; a thread of which nothing is alive is none."""
    origin = make_origin(kind, ttl_seconds=600)
    first = put(origin.saver, config("t"))
    second = put(origin.saver, first)
    _expire(origin, id_of(first))
    assert (bring(origin, saver).checkpoints, ids(saver)) == (1, [id_of(second)])
    _expire(origin, id_of(second))
    assert origin.source.threads() == []
    assert bring(origin, saver.for_principal("other")).failed


@pytest.mark.parametrize(("expired", "kept"), [("", "abcdef"), ("a", "cdf"), ("b", "acdf"), ("ac", "f"), ("abcf", "")])
def test_a_state_that_cannot_be_rebuilt_is_left_out(aws: Origin, saver: DynamoDBSaver, expired: str, kept: str) -> None:
    """a ← b ← c ← d, b ← e, f: a delta channel with a snapshot in c. What needs an ancestor that has expired is not copied."""
    delta = {"counters_since_delta_snapshot": {"log": (1, 1)}}
    at: dict[str, Any] = {}
    for name, parent, values, metadata in (
        ("a", None, {}, {}),
        ("b", "a", {}, delta),
        ("c", "b", {"log": ["x"]}, {}),
        ("d", "c", {}, delta),
        ("e", "b", {}, delta),
        ("f", None, {}, delta),
    ):
        at[name] = put(aws.saver, at[parent] if parent else config("t"), values, **metadata)
    for name in expired:
        _expire(aws, id_of(at[name]))
    copied = bring(aws, saver)
    left = len(at) - len(expired) - len(kept)
    assert copied.left_out == ((f"{left} × checkpoint that is rebuilt from others which have expired",) if left else ())
    assert ids(saver) == [id_of(at[name]) for name in reversed(kept)]
    assert copied.failed == (not kept)


@pytest.mark.parametrize("kind", ["aws", "aws-s3"])
def test_what_a_crash_left_is_left_out(make_origin: MakeOrigin, saver: DynamoDBSaver, kind: str) -> None:
    """A checkpoint without its payload is not there, as for the old saver. A task of which one write has no value runs again."""
    origin = make_origin(kind)
    first = put(origin.saver, config("t"), {"x": 1})
    put(origin.saver, first, {"x": 2})
    origin.saver.put_writes(first, [("a", 1), ("b", 2)], "half")
    origin.saver.put_writes(first, [("a", 3)], "whole")
    chunks = [item for item in origin.items() if item["SK"]["S"] == "CHUNK"]
    for item in chunks:
        if item["PK"]["S"].endswith("#half#1") or (item["PK"]["S"].count("#") == 2 and id_of(first) not in item["PK"]["S"]):
            origin.delete(item)
    copied = bring(origin, saver)
    assert copied.left_out == ("1 × checkpoint whose payload was never stored", "1 × task with a write whose value was never stored")
    found = saver.get_tuple(AT)
    assert found is not None
    assert (found.checkpoint["channel_values"], found.pending_writes) == ({"x": 1}, [("whole", "a", 3)])


def _expire(origin: Origin, checkpoint_id: str) -> None:
    for item in origin.items():
        if checkpoint_id in (item.get("id", {}).get("S"), item.get("checkpoint_id", {}).get("S")):
            request: Any = {"UpdateExpression": "SET #ttl = :past", "ExpressionAttributeNames": {"#ttl": "ttl"}}
            key = {"PK": item["PK"], "SK": item["SK"]}
            origin.client.update_item(TableName=origin.tables[0], Key=key, ExpressionAttributeValues={":past": {"N": "1"}}, **request)


# again


@pytest.mark.parametrize("kind", ["aws", "dynamodb"])
def test_a_second_run_copies_what_is_new(make_origin: MakeOrigin, dynamo: Dynamo, saver: DynamoDBSaver, kind: str) -> None:
    """Nothing at first; then an answer at a checkpoint that was copied, and the checkpoints after it."""
    origin = make_origin(kind)
    graph = graphs.approval(origin.saver, [])
    graph.invoke({"log": []}, AT)
    dry = bring(origin, saver, dry_run=True)
    assert (dry.checkpoints, dynamo.items()) == (3, [])
    assert dry == bring(origin, saver)
    before = dynamo.items()
    again = bring(origin, saver)
    assert (again.checkpoints, again.writes, again.skipped) == (0, 0, "")
    assert dynamo.items() == before
    graph.invoke(Command(resume="yes"), AT)
    assert bring(origin, saver).checkpoints == 2
    assert graphs.approval(saver, []).get_state(AT).values["log"] == ["quoted", "answered yes", "paid"]
    for found in saver.list(AT):
        theirs = origin.saver.get_tuple(found.config)
        assert theirs is not None
        assert theirs.checkpoint == found.checkpoint
        assert set(map(str, theirs.pending_writes or ())) <= set(map(str, found.pending_writes or ()))


@pytest.mark.parametrize(("how", "also_there"), [("resumed", True), ("failed", True), ("failed", False), ("asked", False)])
def test_a_thread_that_went_on_is_not_touched(
    aws: Origin, dynamo: Dynamo, saver: DynamoDBSaver, how: str, also_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answered, answered with a node that failed then, or asked something new: it is skipped, whether it went on there too or not."""
    graphs.approval(aws.saver, []).invoke({"log": []}, AT)
    bring(aws, saver)
    if also_there:
        graphs.approval(aws.saver, []).invoke(Command(resume="no"), AT)
    if how == "failed":
        at = saver.get_tuple(AT)
        assert at is not None
        saver.put_writes(at.config, [("__resume__", ["yes"])], _waiting_task(saver))
    else:
        graphs.approval(saver, []).invoke(Command(resume="yes") if how == "resumed" else {"log": ["more"]}, AT)
    before = dynamo.items()
    copied = bring(aws, saver)
    assert (copied.skipped, copied.failed, copied.checkpoints) == ("it went on in this table", False, 0)
    assert dynamo.items() == before


def _waiting_task(saver: DynamoDBSaver) -> str:
    return graphs.approval(saver, []).get_state(AT).tasks[0].id


def test_what_expired_there_meanwhile_stays_here(aws: Origin, saver: DynamoDBSaver) -> None:
    """The thread's beginning is gone from the source: it has not gone on here, and what is new comes."""
    first = put(aws.saver, config("t"))
    second = put(aws.saver, first)
    bring(aws, saver)
    _expire(aws, id_of(first))
    third = put(aws.saver, second)
    assert bring(aws, saver).checkpoints == 1
    assert ids(saver) == [id_of(third), id_of(second), id_of(first)]


def test_a_crash_at_any_write(aws: Origin, dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """The latest checkpoint is one of the source's, with all its writes, or none is there; the next run brings the rest."""
    first = put(aws.saver, config("t"), {"x": 1})
    second = put(aws.saver, first, {"x": 2})
    for at, task in ((first, "a"), (second, "b")):
        aws.saver.put_writes(at, [("x", 1), ("y", 2)], task)
    theirs = {id_of(found.config): told(found) for found in aws.saver.list(AT)}
    breaking = Breaking(dynamo)
    crashes = 0
    for crash_at in range(20):
        owner = str(crash_at)
        breaking.after = crash_at
        try:
            bring(aws, make_saver(client=breaking.client).for_principal(owner))
        except EndpointConnectionError:
            crashes += 1
            latest = make_saver().for_principal(owner).get_tuple(AT)
            assert latest is None or told(latest) == theirs[id_of(latest.config)]
        bring(aws, make_saver().for_principal(owner))
        assert {id_of(found.config): told(found) for found in make_saver().for_principal(owner).list(AT)} == theirs
        if crashes == crash_at:
            break
    assert crashes == 4


class Breaking:
    """A client that makes no write any more after a number of them."""

    def __init__(self, dynamo: Dynamo) -> None:
        once = CONFIG.merge(Config(retries={"total_max_attempts": 1}))
        self.client = boto3.client("dynamodb", endpoint_url=dynamo.endpoint, region_name=REGION, config=once)
        self.after = 0
        for operation in ("PutItem", "UpdateItem"):
            self.client.meta.events.register(f"before-send.dynamodb.{operation}", self._stop)

    def _stop(self, request: Any, **_: Any) -> None:
        self.after -= 1
        if self.after < 0:
            raise EndpointConnectionError(endpoint_url=request.url)
