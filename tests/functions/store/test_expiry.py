"""Threads that expire: nothing before its time, nothing that is needed, and little is paid for it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from functions.store import expiry, keys
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import AncestorMissing
from functions.store.holding import Holding, clocks
from tests.functions.store.conftest import MakeSaver
from tests.support import graphs
from tests.support.checkpoints import checkpoint, config, put
from tests.support.dynamodb import Dynamo, Recorder

HOUR, DAY = 3_600, 86_400
TTL = 30 * DAY


@dataclass
class Clock:
    """Seconds since 1970 as the store sees them."""

    at: float = 1_800_000_000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(expiry, "now", lambda: clock.at)
    return clock


def _refreshes(calls: Recorder) -> int:
    return sum(1 for name, request in calls.calls if name == "UpdateItem" and request["UpdateExpression"] == "SET expires_at = :expiry")


def test_a_thread_in_use_loses_nothing_and_is_seldom_refreshed(dynamo: Dynamo, make_saver: MakeSaver, clock: Clock) -> None:
    """A run every five days: the log that is rebuilt from ancestors is whole after sixty, and its expiry moved once per half TTL."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    memory, moved = graphs.delta_log(InMemorySaver()), 0
    for turn in range(13):
        calls.calls.clear()
        done = graphs.delta_log(make_saver(client=client, ttl_seconds=TTL)).invoke({"log": [f"turn {turn}"]}, config("t", None))
        assert done == memory.invoke({"log": [f"turn {turn}"]}, config("t", None))
        moved += _refreshes(calls) > 0
        clock.at += 5 * DAY
    assert 3 <= moved <= 5


@pytest.mark.parametrize("offset", range(0, 16 * DAY, 2 * DAY))
def test_ancestors_live_as_long_as_the_latest(make_saver: MakeSaver, clock: Clock, offset: int) -> None:
    """Whenever it is used, also by a run that is longer than what is left of a period: a thread is whole until its TTL is over, and half of
    it later all of it is gone."""
    clock.at += offset
    saver = make_saver(ttl_seconds=TTL)
    first = put(saver, config("t"), {"n": 0})
    clock.at += 2 * DAY
    second = put(saver, first, {"n": 1})
    saver.get_tuple(config("t"))
    clock.at += TTL - 1
    readers = [saver, make_saver()]
    assert [view.get_tuple(at) is not None for view in readers[1:] for at in (first, second, config("t"))] == [True] * 3
    clock.at += TTL // 2 + 2
    for view in readers:
        assert [view.get_tuple(at) for at in (first, second, config("t"))] == [None] * 3
        assert list(view.list(config("t"))) == list(view.list(config("t", None))) == list(view.list(None)) == []


def test_a_thread_from_before_the_ttl_gets_one(dynamo: Dynamo, make_saver: MakeSaver, clock: Clock) -> None:
    """A TTL that is switched on or changed holds for the whole thread from its next use on."""
    for ttl_seconds in (None, TTL, 2 * TTL, TTL):
        saver = make_saver(ttl_seconds=ttl_seconds)
        found = saver.get_tuple(config("t"))
        put(saver, found.config if found else config("t"), {"n": 1})
    assert len({item["expires_at"]["N"] for item in dynamo.items()}) == 1
    assert clock.at + TTL <= int(dynamo.items()[0]["expires_at"]["N"]) <= clock.at + 1.5 * TTL


def test_threads_do_not_all_expire_at_one_moment(clock: Clock) -> None:
    """A common moment would be one when every thread in use is written anew."""
    assert len({expiry.expiring(f"!{number}", TTL)["expires_at"]["N"] for number in range(100)}) > 90


def test_a_refresh_that_stopped_half_way_is_made_good(dynamo: Dynamo, make_saver: MakeSaver, clock: Clock) -> None:
    """The oldest checkpoint is moved last: as long as it lags, the next read begins again."""
    saver = make_saver(ttl_seconds=TTL)
    at = config("t")
    for number in range(3):
        at = put(saver, at, {"n": number})
    clock.at += TTL // 2 + HOUR
    client = dynamo.fresh_client()
    calls = Recorder(client)
    make_saver(client=client, ttl_seconds=TTL).get_tuple(config("t"))
    keys = [request["Key"]["sk"]["S"] for name, request in calls.calls if name == "UpdateItem"]
    assert (len(keys), keys[-1]) == (3, min(keys))


@pytest.mark.parametrize("ids", [("1", "2", "3"), ("9", "5", "3")])
def test_a_lost_ancestor_is_an_error(saver: DynamoDBSaver, dynamo: Dynamo, ids: tuple[str, str, str]) -> None:
    """A state that would be rebuilt without what an ancestor held is not served as if it were whole."""
    at = config("t")
    for own_id in ids:
        at = saver.put(at, checkpoint({}, own_id), {}, {})
        saver.put_writes(at, [("log", [own_id])], "task")
    gone = next(item for item in dynamo.items() if item["sk"]["S"] == keys.checkpoint_key("", ids[0]))
    dynamo.client.delete_item(TableName=dynamo.checkpoints, Key={"pk": gone["pk"], "sk": gone["sk"]})
    with pytest.raises(AncestorMissing, match=rf"{ids[1]!r} of thread 't' is rebuilt from checkpoint {ids[0]!r}"):
        saver.get_delta_channel_history(config=at, channels=["log"])


def test_a_run_with_its_lease_keeps_its_thread_alive_once(dynamo: Dynamo, make_saver: MakeSaver, clock: Clock) -> None:
    """Its first read moves the expiry where it is due, lease included; the following ones do not ask again."""
    client = dynamo.fresh_client()
    calls = Recorder(client)
    saver = make_saver(client=client, ttl_seconds=TTL)
    put(saver, config("t"), {"n": 0})
    clock.at += 20 * DAY
    held = saver.held(saver.leases.take(saver.partition("t"), "run", 30), Holding(30, lambda: True, since=clocks()))
    for _ in range(3):
        assert held.get_tuple(config("t")) is not None
    asked = [request for name, request in calls.calls if name == "Query" and request.get("ProjectionExpression") == "expires_at"]
    assert (len(asked), _refreshes(calls) > 0) == (1, True)
    assert {item["expires_at"]["N"] for item in dynamo.items()} == {expiry.expiring(saver.partition("t"), TTL)["expires_at"]["N"]}
