from __future__ import annotations

import time
from functools import partial

import pytest

from functions.store.threads import BadCursor, Threads
from tests.support.dynamodb import Dynamo


@pytest.fixture(params=["dynamo", "dynalite"])
def threads(request: pytest.FixtureRequest) -> Threads:
    server: Dynamo = request.getfixturevalue(request.param)
    return Threads(server.tables["threads"], client=server.client)


def _touch(threads: Threads, thread_id: str) -> None:
    threads.touch("me", thread_id, agent="dev", title=f"about {thread_id}")
    time.sleep(0.002)


def test_the_first_touch_names_the_conversation(threads: Threads) -> None:
    """The title stays that of the first touch; the time moves."""
    first = threads.touch("me", "a#b", agent="dev", title="x" * 900)
    time.sleep(0.002)
    second = threads.touch("me", "a#b", agent="dev", title="new")
    assert (second.agent, second.title, second.created_at) == ("dev", "x" * 200, first.created_at)
    assert second.updated_at > first.updated_at
    assert threads.get("me", "a#b", agent="dev") == second


def test_two_agents_share_no_conversation(threads: Threads) -> None:
    """The same thread id with two agents is two rows, whatever separators and lengths the names have; their owner's list has both."""
    long = "好" * 400
    pairs = [("dev", "t"), ("other", "t"), ("dev!o", "t"), ("dev", "o!t"), ("dev" * 90, long), ("dev", long)]
    for agent, thread_id in pairs:
        threads.touch("me", thread_id, agent=agent, title=f"{agent} {thread_id}"[:20])
    found = [threads.get("me", thread_id, agent=agent) for agent, thread_id in pairs]
    assert [(row.agent, row.thread_id) for row in found if row] == pairs
    threads.delete("me", "t", agent="other")
    left = {(row.agent, row.thread_id) for row in threads.list("me").rows}
    assert left == {*pairs} - {("other", "t")}


def test_list_pages_latest_first(threads: Threads) -> None:
    """Pages hold every row once, the latest touched first."""
    for thread_id in ("one", "two", "three", "four", "one"):
        _touch(threads, thread_id)
    first = threads.list("me", limit=3)
    second = threads.list("me", limit=3, cursor=first.cursor)
    assert [row.thread_id for row in (*first.rows, *second.rows)] == ["one", "four", "three", "two"]
    assert second.cursor is None


def test_rows_belong_to_their_principal(threads: Threads) -> None:
    """Nobody sees, gets or continues another's rows, also with their cursor."""
    for thread_id in ("one", "two"):
        _touch(threads, thread_id)
    cursor = threads.list("me", limit=1).cursor
    assert threads.list("you").rows == threads.list("you", cursor=cursor).rows == ()
    assert threads.get("you", "one", agent="dev") is None


@pytest.mark.parametrize("server", ["dynamo", "dynalite"])
def test_a_row_expires_with_its_thread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    """A row is there for the TTL after its last touch, and carries it for DynamoDB; without one it stays."""
    found: Dynamo = request.getfixturevalue(server)
    kept, expiring = (Threads(found.tables["threads"], client=found.client, ttl_seconds=ttl_seconds) for ttl_seconds in (None, 100))
    start = time.time()
    expiring.touch("me", "t", agent="dev", title="x")
    monkeypatch.setattr("functions.store.expiry.now", lambda: start + 90)
    monkeypatch.setattr("functions.store.threads.now", lambda: start + 90)
    expiring.touch("me", "t", agent="dev", title="x")
    for threads, after, expected in ((expiring, 189, 1), (expiring, 191, 0), (kept, 191, 0)):
        monkeypatch.setattr("functions.store.expiry.now", partial(float, start + after))
        assert (len(threads.list("me").rows), threads.get("me", "t", agent="dev") is not None) == (expected, bool(expected))
    kept.touch("me", "t", agent="dev", title="x")
    assert len(kept.list("me").rows) == 1


def test_delete(threads: Threads) -> None:
    """A deleted row is gone, and deleting it again is no error."""
    _touch(threads, "one")
    for _ in range(2):
        threads.delete("me", "one", agent="dev")
    assert threads.get("me", "one", agent="dev") is None
    assert threads.list("me").rows == ()


@pytest.mark.parametrize("cursor", ["x", "e30=", "WzEsMl0=", "WyJ0ISIsICIiXQ==", "é", "////"])
def test_a_foreign_cursor_is_refused(threads: Threads, cursor: str) -> None:
    """What `list` did not make raises BadCursor, before any call."""
    with pytest.raises(BadCursor, match="cursor"):
        threads.list("me", cursor=cursor)


def test_a_title_is_claimed_once_and_the_users_stays(threads: Threads) -> None:
    """One run names it by a model; whoever it belongs to replaces that, and nothing replaces theirs."""
    threads.touch("me", "t", agent="dev", title="rule")
    assert not threads.suggest_title("me", "t", agent="dev", title="unclaimed")
    assert [threads.claim_title("me", "t", agent="dev") for _ in range(2)] == [True, False]
    assert threads.suggest_title("me", "t", agent="dev", title="model")
    row = threads.get("me", "t", agent="dev")
    assert row
    assert (row.title, row.titled) == ("model", "model")
    renamed = threads.rename("me", "t", agent="dev", title="mine")
    assert renamed
    assert (renamed.title, renamed.titled, renamed.updated_at) == ("mine", "user", row.updated_at)
    assert not threads.claim_title("me", "t", agent="dev")
    assert not threads.suggest_title("me", "t", agent="dev", title="late")
    assert threads.touch("me", "t", agent="dev", title="again").title == "mine"


def test_nobody_names_what_is_not_there(threads: Threads) -> None:
    """A late title makes no row of a deleted or a foreign conversation."""
    threads.touch("me", "t", agent="dev", title="rule")
    assert threads.rename("you", "t", agent="dev", title="x") is None
    assert threads.rename("me", "t", agent="other", title="x") is None
    threads.delete("me", "t", agent="dev")
    assert not threads.claim_title("me", "t", agent="dev")
    assert threads.list("me").rows == ()
