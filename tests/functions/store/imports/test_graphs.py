"""Threads that began with another saver and go on with ours, in real graphs."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from functions.store.checkpoints import DynamoDBSaver
from functions.store.imports import Copied, import_threads
from tests.functions.store.conftest import MakeSaver
from tests.functions.store.imports.conftest import MakeOrigin, Origin
from tests.support import graphs
from tests.support.checkpoints import config, noise, put

pytestmark = pytest.mark.long

AT = config("t", None)


def bring(origin: Origin, saver: DynamoDBSaver, thread_id: str = "t", **options: Any) -> Copied:
    """Imports one thread."""
    (copied,) = import_threads(origin.source, saver, [thread_id], **options)
    return copied


def told(found: CheckpointTuple) -> dict[str, Any]:
    """All that a tuple says, its writes in an order of their own."""
    return found._asdict() | {"pending_writes": sorted(map(str, found.pending_writes or ()))}


def test_an_interrupt_stays_open_and_is_answered(origin: Origin, saver: DynamoDBSaver) -> None:
    """Interrupted with the old saver, answered with ours: the same question, and the rest runs once."""
    paid: list[int] = []
    asked = graphs.approval(origin.saver, paid).invoke({"log": []}, AT)
    copied = bring(origin, saver)
    assert (copied.checkpoints, copied.skipped, copied.left_out) == (3, "", ())
    graph = graphs.approval(saver, paid)
    waiting = graph.get_state(AT)
    assert waiting.interrupts == tuple(asked["__interrupt__"])
    done = graph.invoke(Command(resume={waiting.interrupts[0].id: "yes"}), AT)
    assert (done["log"], done["price"], paid) == (["quoted", "answered yes", "paid"], graphs.Money(7), [7])


@pytest.mark.parametrize(("kind", "durability"), [("aws", "sync"), ("aws-gzip", "exit")])
async def test_so_does_one_in_a_nested_graph(make_origin: MakeOrigin, saver: DynamoDBSaver, kind: str, durability: Any) -> None:
    """Its namespace comes along (langgraph-checkpoint-dynamodb cannot run nested graphs)."""
    paid: list[int] = []
    origin = make_origin(kind)
    asked = await graphs.nested_approval(origin.saver, paid).ainvoke({"log": []}, AT, durability=durability)
    bring(origin, saver)
    graph = graphs.nested_approval(saver, paid)
    waiting = await graph.aget_state(AT, subgraphs=True)
    assert waiting.interrupts == tuple(asked["__interrupt__"])
    done = await graph.ainvoke(Command(resume="yes"), AT, durability=durability)
    assert (done["log"][-1], done["log"].count("answered yes"), paid) == ("after", 1, [7])


@pytest.mark.parametrize("kind", ["aws-gzip", "dynamodb"])
def test_everything_comes_over(make_origin: MakeOrigin, saver: DynamoDBSaver, kind: str) -> None:
    """Every checkpoint is what the old saver gives for it: ids, parents, metadata, state, writes; and nothing there has changed."""
    origin = make_origin(kind)
    graphs.tool_loop(origin.saver).invoke({"messages": graphs.messages(1)}, AT | {"metadata": {"tag": "x"}})
    before = origin.items()
    copied = bring(origin, saver)
    ours = list(saver.list(config("t", None)))
    theirs = [origin.saver.get_tuple(found.config) for found in ours]
    assert [told(found) for found in ours] == [told(found) for found in theirs if found]
    assert copied.checkpoints == len(ours) == 7
    assert copied.writes == sum(len(found.pending_writes or ()) for found in ours)
    assert origin.items() == before


def test_all_namespaces_of_a_thread(aws: Origin, saver: DynamoDBSaver) -> None:
    """The same for a nested graph that has ended."""
    paid: list[int] = []
    graphs.nested_approval(aws.saver, paid).invoke({"log": []}, AT)
    graphs.nested_approval(aws.saver, paid).invoke(Command(resume="no"), AT)
    bring(aws, saver)
    ours = {str(found.config): told(found) for found in saver.list(config("t", None))}
    assert ours == {str(found.config): told(found) for found in aws.saver.list(config("t", None))}
    assert len({name.count("child:") for name in ours}) == 2


def test_large_payloads_in_s3(make_origin: MakeOrigin, make_saver: MakeSaver, bucket: str) -> None:
    """Checkpoints and writes over 350 KB, from their bucket into ours."""
    origin, saver = make_origin("aws-s3"), make_saver(bucket=bucket)
    at = config("t")
    for turn in range(2):
        at = put(origin.saver, at, {"x": noise(400_000, turn)}, step=turn)
        origin.saver.put_writes(at, [("x", noise(400_000, turn + 9)), ("y", 1)], "task")
    assert bring(origin, saver).left_out == ()
    ours, theirs = list(saver.list(config("t"))), list(origin.saver.list(config("t")))
    assert len(ours) == 2
    assert [told(found) for found in ours] == [told(found) for found in theirs]


def test_delta_channels_are_rebuilt(aws: Origin, saver: DynamoDBSaver) -> None:
    """As InMemorySaver rebuilds them, and the next turns build on that: across snapshots, in parallel nodes."""
    memory = InMemorySaver()
    for turn in range(3):
        for one in (aws.saver, memory):
            graphs.delta_log(one).invoke({"log": [f"turn {turn}"]}, AT)
    bring(aws, saver)
    assert graphs.delta_log(saver).get_state(AT).values == graphs.delta_log(memory).get_state(AT).values
    for turn in range(3, 6):
        done = graphs.delta_log(saver).invoke({"log": [f"turn {turn}"]}, AT)
        assert done == graphs.delta_log(memory).invoke({"log": [f"turn {turn}"]}, AT)


@pytest.mark.parametrize(("kind", "strings"), [("aws", True), ("dynamodb", True), ("dynamodb", False)])
def test_versions_go_on(make_origin: MakeOrigin, saver: DynamoDBSaver, kind: str, strings: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers, which both savers count in, and the strings of a subclass: the next turn sees what is new."""
    origin, memory = make_origin(kind), InMemorySaver()
    if strings:
        monkeypatch.setattr(type(origin.saver), "get_next_version", lambda _, current, channel: memory.get_next_version(current, channel))
    for one in (origin.saver, memory):
        graphs.tool_loop(one).invoke({"messages": graphs.messages(1)}, AT)
    bring(origin, saver)
    done = graphs.tool_loop(saver).invoke({"messages": graphs.messages(1)}, AT)
    expected = graphs.tool_loop(memory).invoke({"messages": graphs.messages(1)}, AT)
    assert [message.content for message in done["messages"]] == [message.content for message in expected["messages"]]
    found = saver.get_tuple(AT)
    assert found is not None
    assert {type(version) for version in found.checkpoint["channel_versions"].values()} == {str if strings else int}
