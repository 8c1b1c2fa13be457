"""Tables that are not what they were said to be, payloads that cannot be read, and the rows of the imported conversations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from functions.store.checkpoints import DynamoDBSaver
from functions.store.imports import AwsTable, Listing, SourceError, TwoTables, import_threads
from functions.store.imports.aws import Bucket
from functions.store.imports.contents import AsTheyAre
from functions.store.imports.foreign import Sealed
from functions.store.threads import Threads
from tests.functions.store.conftest import MakeSaver
from tests.functions.store.imports.conftest import MakeOrigin, Origin
from tests.functions.store.imports.test_graphs import AT, bring
from tests.support import graphs
from tests.support.checkpoints import config, noise, put
from tests.support.dynamodb import Dynamo

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# tables


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (lambda aws, two: AwsTable("nowhere", client=aws.client), "There is no table 'nowhere' to import from at http.*AWS_REGION"),
        (lambda aws, two: AwsTable(two.tables[0], client=aws.client), "not made for langgraph-checkpoint-aws: its keys are thread_id and"),
        (lambda aws, two: TwoTables(aws.tables[0], two.tables[1], client=aws.client), "its keys are PK and SK, not thread_id and"),
        (lambda aws, two: TwoTables(two.tables[0], two.tables[0], client=aws.client), "not thread_id_checkpoint_id_checkpoint_ns and"),
    ],
)
def test_another_table_is_refused(make_origin: MakeOrigin, source: Callable[[Origin, Origin], Any], said: str) -> None:
    """A missing table and one of another layout are named, with what to do."""
    aws, two = make_origin("aws"), make_origin("dynamodb")
    for origin in (aws, two):
        origin.source.check()
    with pytest.raises(SourceError, match=said):
        source(aws, two).check()


@pytest.mark.parametrize("kind", ["aws", "dynamodb"])
def test_threads_come_by_their_latest_checkpoint(make_origin: MakeOrigin, kind: str) -> None:
    """The one with the oldest is first, so that the list of conversations has them in order; ids may be anything."""
    origin = make_origin(kind)
    at = {name: put(origin.saver, config(name)) for name in ("a#b", "好 :::x", "t")}
    put(origin.saver, at["a#b"])
    assert origin.source.threads() == ["好 :::x", "t", "a#b"]
    assert [header.thread_id for header in origin.source.headers("a#b")] == ["a#b"] * 2


@pytest.mark.parametrize(
    ("prefix", "said"), [(None, "Name the bucket"), ("", "None of its 1 payloads in S3 is there: s3://bucket-.*/t/che")]
)
def test_payloads_in_s3_that_are_not_found(
    make_origin: MakeOrigin, saver: DynamoDBSaver, s3: S3Client, bucket: str, prefix: str | None, said: str
) -> None:
    """Without the bucket, or with another key prefix, a thread is not imported in an older state: it says what to correct."""
    origin = make_origin("aws-s3")
    put(origin.saver, put(origin.saver, config("t")), {"x": noise(400_000)})
    place = None if prefix is None else Bucket(s3, bucket, prefix)
    copied = bring(Origin(origin.saver, AwsTable(origin.tables[0], client=origin.client, bucket=place), origin.client, ()), saver)
    assert copied.failed
    with pytest.raises(SourceError, match=said):
        raise SourceError(copied.skipped)
    assert list(saver.list(config("t"))) == []


# serializers


class AsJson(SerializerProtocol):
    """As langgraph-checkpoint 1 stored everything."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "json", json.dumps(obj, default=lambda message: message.to_json()).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return JsonPlusSerializer().loads_typed(data)


def test_json_of_older_versions(make_origin: MakeOrigin, saver: DynamoDBSaver) -> None:
    """It stays JSON, with the objects in it."""
    origin = make_origin("dynamodb", serde=AsJson())
    at = put(origin.saver, config("t"), {"messages": [HumanMessage("hi", id="1")], "n": 1.5})
    origin.saver.put_writes(at, [("messages", [AIMessage("yes", id="2")])], "task")
    bring(origin, saver)
    found = saver.get_tuple(AT)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"messages": [HumanMessage("hi", id="1")], "n": 1.5}
    assert found.pending_writes == [("task", "messages", [AIMessage("yes", id="2")])]


def test_encrypted_threads_need_their_serializer(make_origin: MakeOrigin, make_saver: MakeSaver) -> None:
    """Without it they are skipped; with it they are read, and written with the saver's own: here with another key. Also the second time."""
    old, new = (EncryptedSerializer.from_pycryptodome_aes(key=bytes([number]) * 16) for number in (1, 2))
    origin, saver = make_origin("dynamodb", serde=old), make_saver(serde=new)
    graphs.approval(origin.saver, []).invoke({"log": []}, AT)
    refused = bring(origin, saver)
    assert (refused.failed, "'msgpack+aes', which needs the serializer" in refused.skipped) == (True, True)
    assert bring(origin, saver, serde=old).checkpoints == 3
    graphs.approval(origin.saver, []).invoke(Command(resume="yes"), AT)
    assert bring(origin, saver, serde=old).checkpoints == 2
    assert bring(origin, saver, serde=old).skipped == ""
    assert graphs.approval(saver, []).get_state(AT).values["log"] == ["quoted", "answered yes", "paid"]


@pytest.mark.parametrize("kind", ["pickle", "msgpack+aes", "mine"])
def test_what_only_its_serializer_reads_is_not_carried(kind: str) -> None:
    """Our saver could not read it either."""
    with pytest.raises(SourceError, match=re.escape(f"stored as {kind!r}, which needs the serializer that wrote it")):
        AsTheyAre().carry(Sealed(kind, b"x"))


# conversations


@pytest.fixture
def threads(dynamo: Dynamo) -> Threads:
    return Threads(dynamo.tables["threads"], client=dynamo.client)


def listing(threads: Threads) -> Listing:
    return Listing(threads, "me", "dev", "Untitled")


TITLES: dict[str, dict[str, Any]] = {
    "What now?": {"messages": [AIMessage("Welcome"), HumanMessage("  What now?\n")]},
    "See": {"messages": [HumanMessage([{"type": "text", "text": "See"}, {"type": "image", "url": "https://x/y.png"}])]},
    "Pairs": {"__start__": {"messages": [("user", "Pairs")]}},
    "Dicts": {"__start__": {"messages": [{"role": "user", "content": "Dicts"}]}},
    "Text": {"__start__": {"messages": "Text"}},
    "One": {"__start__": {"messages": HumanMessage("One")}},
    "Untitled 1": {"__start__": graphs.Money(1), "messages": [5]},
    "Untitled 2": {"messages": [HumanMessage("")]},
    "Untitled 3": {},
}


def test_the_first_words_are_the_title(aws: Origin, saver: DynamoDBSaver, threads: Threads) -> None:
    """Of the user, in any form that LangChain takes; where there are none, the name that the caller gives."""
    for title, values in TITLES.items():
        put(aws.saver, config(title), values)
    list(import_threads(aws.source, saver, list(TITLES), listing=listing(threads)))
    found = {row.thread_id: row.title for row in threads.list("me").rows}
    assert found == {title: "Untitled" if title.startswith("Untitled") else title for title in TITLES}


def test_rows(aws: Origin, saver: DynamoDBSaver, threads: Threads) -> None:
    """In the order of the latest checkpoints; a second run moves a row only for what is new, and makes one that a crash left out."""
    for name in "abc":
        put(aws.saver, config(name))

    def run(**options: Any) -> list[str]:
        list(import_threads(aws.source, saver, aws.source.threads(), listing=listing(threads), **options))
        return [row.thread_id for row in threads.list("me").rows]

    assert run(dry_run=True) == []
    assert run() == ["c", "b", "a"]
    rows = threads.list("me").rows
    assert run() == ["c", "b", "a"]
    assert threads.list("me").rows == rows
    threads.delete("me", "b", agent="dev")
    put(aws.saver, aws.saver.get_tuple(config("a")).config)  # type: ignore[union-attr]
    assert run() == ["a", "b", "c"]
