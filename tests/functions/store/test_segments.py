"""Long lists are stored in segments, each once: what is read is the list that was put, and what is written is what is new of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from functions.store import keys, segments
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import PayloadMissing
from functions.store.segments import ELEMENTS, LARGEST
from tests.functions.store.conftest import MakeSaver
from tests.support.checkpoints import config, put
from tests.support.dynamodb import Dynamo, Recorder

KEY = b"0123456789abcdef"


def history(number: int, first: int = 0) -> list[Any]:
    return [HumanMessage(f"{place} ".ljust(200, "."), id=f"m{place}") for place in range(first, first + number)]


def stored(dynamo: Dynamo, kind: str = keys.SEGMENTS) -> list[str]:
    return sorted(item["sk"]["S"] for item in dynamo.items() if item["sk"]["S"].startswith(kind))


def value(saver: DynamoDBSaver, at: RunnableConfig) -> Any:
    found = saver.get_tuple(at)
    assert found is not None
    return found.checkpoint["channel_values"]["log"]


@pytest.mark.parametrize("length", [0, 1, ELEMENTS - 1, ELEMENTS, ELEMENTS + 1, 5 * ELEMENTS + 3])
@pytest.mark.parametrize("wrap", [lambda log: log, _DeltaSnapshot], ids=["list", "snapshot"])
def test_what_was_put_is_read(dynamo: Dynamo, make_saver: MakeSaver, length: int, wrap: Any) -> None:
    """By the saver that stored it and by one that never saw it; with as many segments as there are whole ones."""
    saver, log = make_saver(), wrap(history(length))
    at = put(saver, config("t"), {"log": log, "other": "text"})
    assert len(stored(dynamo)) == length // ELEMENTS
    for reader in (saver, make_saver()):
        assert value(reader, at) == log
        assert type(value(reader, at)) is type(log)


def test_what_is_there_is_not_stored_again(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Not by who stored it, nor by who read it; who has seen neither stores it again under the same name."""
    saver = make_saver()
    at = put(saver, config("t"), {"log": history(100)})
    assert len(stored(dynamo)) == 3
    for reads, calls in ((True, {"PutItem"}), (False, {"PutItem", "BatchWriteItem"})):
        client = dynamo.fresh_client()
        other = make_saver(client=client)
        if reads:
            other.get_tuple(at)
        recorder = Recorder(client)
        put(other, at, {"log": history(101)})
        assert {name for name in recorder.operations if name not in ("Query", "GetItem")} == calls
        assert len(stored(dynamo)) == 3
    put(saver, at, {"log": history(128)})
    assert len(stored(dynamo)) == 4


def test_a_delta_history_stores_what_is_new_of_it(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Its snapshots are far apart: what lies between them names nothing, and is rebuilt from the one that does."""
    at = put(make_saver(), config("t"), {"log": _DeltaSnapshot(history(100))})
    for reads in (True, False):
        client = dynamo.fresh_client()
        saver = make_saver(client=client)
        middle = put(saver, at, counters_since_delta_snapshot={"log": (1, 1)})
        if reads:
            saver = make_saver(client=client)
            (seed,) = (found["seed"] for found in saver.get_delta_channel_history(config=middle, channels=["log"]).values())
            assert seed == _DeltaSnapshot(history(100))
        recorder = Recorder(client)
        put(saver, put(saver, middle, counters_since_delta_snapshot={"log": (2, 2)}), {"log": _DeltaSnapshot(history(140))})
        batches = [request["RequestItems"] for name, request in recorder.calls if name == "BatchWriteItem"]
        assert [len(requests) for batch in batches for requests in batch.values()] == [1 if reads else 4]


@pytest.mark.parametrize("then", [{"log": []}, {}], ids=["empty", "gone"])
def test_a_channel_without_its_list_names_nothing_more(dynamo: Dynamo, make_saver: MakeSaver, then: dict[str, Any]) -> None:
    """What an ancestor named may have been swept since: it is stored again when the list comes back."""
    saver = make_saver()
    at = put(saver, config("t"), {"log": history(100)})
    at = put(saver, at, then)
    for item in dynamo.items():
        if item["sk"]["S"].startswith(keys.SEGMENTS):
            dynamo.client.put_item(TableName=dynamo.checkpoints, Item={**item, "at": {"N": "1"}})
    saver.prune(["t"])
    assert stored(dynamo) == []
    at = put(saver, at, {"log": history(100)})
    assert value(make_saver(), at) == history(100)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.sampled_from(["append", "drop", "change", "reread"]), st.integers(0, 120)), min_size=1, max_size=5),
    seed=st.integers(0, 10**9),
)
def test_every_checkpoint_keeps_its_own_list(make_saver: MakeSaver, steps: Sequence[tuple[str, int]], seed: int) -> None:
    """Whatever is added, taken out in the middle and changed."""
    saver, at, log = make_saver(), config(f"t{seed}"), history(90, seed)
    put_so_far: list[tuple[RunnableConfig, list[Any]]] = []
    for number, (what, place) in enumerate(steps):
        match what:
            case "append":
                log = [*log, *history(place, seed + 1_000 * (number + 1))]
            case "drop":
                log = log[:place] + log[place + 1 :]
            case "change":
                log = [HumanMessage("changed", id=m.id) if at_place == place else m for at_place, m in enumerate(log)]
            case "reread":
                saver = make_saver()
        at = put(saver, at, {"log": log})
        put_so_far.append((at, log))
    for reader in (saver, make_saver()):
        assert [value(reader, place) for place, _ in put_so_far] == [expected for _, expected in put_so_far]
        assert [found.checkpoint["channel_values"]["log"] for found in reader.list(config(f"t{seed}"))] == [
            expected for _, expected in reversed(put_so_far)
        ]


@pytest.mark.parametrize(
    ("log", "cut"),
    [
        (list(range(1_000)), 0),
        (["x" * 200] * 100, 1),
        ([*history(40), "x" * (LARGEST + 1), *history(100, 50)], 1),
        ([history(3)] * 5, 0),
        ({"messages": history(100)}, 0),
        ([*history(64), {"nested": history(40)}, {1, 2}], 2),
    ],
    ids=["small elements", "equal segments", "a large element", "lists in a list", "a list in a dict", "mixed"],
)
def test_what_is_cut(dynamo: Dynamo, make_saver: MakeSaver, log: Any, cut: int) -> None:
    """Only what is worth an item and fits into it; the rest stays where it was. All is read as it was put."""
    at = put(make_saver(), config("t"), {"log": log})
    assert len(stored(dynamo)) == cut
    assert value(make_saver(), at) == log


def test_a_very_long_list_has_longer_segments(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Their names would fill the checkpoint's item otherwise."""
    log = [f"{place} ".ljust(40, ".") for place in range(ELEMENTS * segments.MOST + 1)]
    at = put(make_saver(), config("t"), {"log": log})
    assert len(stored(dynamo)) == segments.MOST // 2
    assert value(make_saver(), at) == log


def test_encrypted_lists_stay_whole(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """Encrypted bytes are never the same twice, and a digest of what is under them would say something of it."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    at = put(make_saver(serde=serde), config("t"), {"log": history(100)})
    assert stored(dynamo) == []
    assert value(make_saver(serde=serde), at) == history(100)


def test_a_lost_segment_is_said(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    at = put(make_saver(), config("t"), {"log": history(100)})
    (checkpoint,) = [item for item in dynamo.items() if item["sk"]["S"].startswith("c!")]
    dynamo.client.delete_item(TableName=dynamo.checkpoints, Key={"pk": checkpoint["pk"], "sk": {"S": stored(dynamo)[0]}})
    with pytest.raises(PayloadMissing, match="1 of 3 segments missing"):
        make_saver().get_tuple(at)


def test_a_copy_stands_alone_and_nothing_stays_of_a_deleted_thread(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    saver = make_saver()
    put(saver, config("t"), {"log": history(100)})
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    assert value(make_saver(), config("copy")) == history(100)
    put(saver, config("t"), {"log": history(100)})  # what it had known of the deleted thread is not there any more
    assert value(make_saver(), config("t")) == history(100)
    for thread in ("t", "copy"):
        saver.delete_thread(thread)
    assert dynamo.items() == []


def test_pruning_sweeps_what_nobody_names(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """But not what was stored within the last hour: its checkpoint may be on its way."""
    saver = make_saver()
    put(saver, put(saver, config("t"), {"log": history(100)}), {"log": history(64, 500)})
    saver.prune(["t"])
    assert len(stored(dynamo)) == 5
    for item in dynamo.items():
        if item["sk"]["S"].startswith(keys.SEGMENTS):
            dynamo.client.put_item(TableName=dynamo.checkpoints, Item={**item, "at": {"N": "1"}})
    saver.prune(["t"])
    assert len(stored(dynamo)) == 2
    assert value(make_saver(), config("t")) == history(64, 500)


def test_a_reader_of_before_fails_instead_of_losing_the_history(dynamo: Dynamo, make_saver: MakeSaver) -> None:
    """It looks for `state`; what is left of a list must not pass for all of it."""
    put(make_saver(), config("t"), {"log": history(100)})
    (checkpoint,) = [item for item in dynamo.items() if item["sk"]["S"].startswith("c!")]
    assert "state" not in checkpoint
    assert "rest" in checkpoint
