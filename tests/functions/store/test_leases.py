"""One holder per thread: taken, renewed and given back by conditional writes, on both emulators."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from functions.store import expiry
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import LeaseLost, ThreadBusy
from functions.store.holding import Holding, clocks
from functions.store.leases import Grant
from tests.support.dynamodb import Dynamo

PK = "!t"


@pytest.fixture(params=["moto", "dynalite"])
def server(request: pytest.FixtureRequest) -> Dynamo:
    """dynalite does not say whose a lease is when it refuses one: it is read then."""
    found: Dynamo = request.getfixturevalue("dynamo" if request.param == "moto" else "dynalite")
    return found


@pytest.fixture
def saver(server: Dynamo) -> DynamoDBSaver:
    return DynamoDBSaver(server.checkpoints, client=server.client)


def test_a_second_run_is_told_whose_the_thread_is(saver: DynamoDBSaver) -> None:
    """And for how long, if nothing more is heard of it."""
    saver.leases.take(PK, "first", 30)
    with pytest.raises(ThreadBusy, match="'first' is running") as busy:
        saver.leases.take(PK, "second", 30)
    assert busy.value.run_id == "first"
    assert 25 < busy.value.seconds <= 30


def test_a_busy_thread_names_the_request_that_has_it(saver: DynamoDBSaver) -> None:
    """From the first moment of the lease on, and not that of a run before it."""
    for run, key, told in (("first", "the click", "the click"), ("second", "", "")):
        grant = saver.leases.take(PK, run, 30, request_key=key)
        with pytest.raises(ThreadBusy) as busy:
            saver.leases.take(PK, "other", 30)
        assert busy.value.request_key == told
        saver.leases.give_back(grant)


def test_a_lease_that_was_given_back_is_free(saver: DynamoDBSaver) -> None:
    """The fence counts on; the epoch stays, since nothing of the first run is under way."""
    first = saver.leases.take(PK, "first", 30)
    saver.leases.give_back(first)
    second = saver.leases.take(PK, "second", 30)
    assert (first.fence, second.fence, second.epoch, second.dead) == (1, 2, 0, frozenset())


def test_a_lease_that_is_over_is_taken_over(saver: DynamoDBSaver) -> None:
    """The new holder learns whose it was, and is in the next epoch; the old one cannot renew, nor give back what is not its own."""
    first = saver.leases.take(PK, "first", -1)
    second = saver.leases.take(PK, "second", 30)
    assert (second.fence, second.epoch, second.dead) == (2, 1, frozenset({"first"}))
    assert not saver.leases.beat(first, 30)
    saver.leases.give_back(first)
    with pytest.raises(ThreadBusy):
        saver.leases.take(PK, "third", 30)


def test_the_dead_are_remembered(saver: DynamoDBSaver) -> None:
    """Also when later runs have ended well: the retry of their request is not a repetition."""
    saver.leases.take(PK, "first", -1)
    saver.leases.take(PK, "second", -1)
    saver.leases.give_back(saver.leases.take(PK, "third", 30))
    fourth = saver.leases.take(PK, "fourth", 30)
    assert (fourth.epoch, fourth.dead) == (2, frozenset({"first", "second"}))


def test_a_takeover_that_fails_is_the_next_ones(saver: DynamoDBSaver, server: Dynamo) -> None:
    """It does not hold the thread for half a minute, unsealed: who comes next takes it over."""
    saver.leases.take(PK, "first", -1)
    client = server.fresh_client()
    taken: list[str] = []

    def fail(**_: object) -> None:
        if len(taken) == 2:  # refused, taken over, and now read
            raise ConnectionError

    client.meta.events.register("after-call.dynamodb.UpdateItem", lambda **_: taken.append("asked"))
    client.meta.events.register("before-call.dynamodb.Query", fail)
    with pytest.raises(ConnectionError):
        DynamoDBSaver(server.checkpoints, client=client).leases.take(PK, "second", 30)
    third = saver.leases.take(PK, "third", 30)
    assert (third.dead, third.epoch) == (frozenset({"first", "second"}), 2)


def test_a_beat_prolongs_it(saver: DynamoDBSaver) -> None:
    """From now on, not from the end."""
    grant = saver.leases.take(PK, "first", 0.1)
    assert saver.leases.beat(grant, 30)
    with pytest.raises(ThreadBusy) as busy:
        saver.leases.take(PK, "second", 30)
    assert 25 < busy.value.seconds <= 30


def test_given_back_with_writes_under_way(saver: DynamoDBSaver) -> None:
    """It is free at once, but for a new epoch."""
    saver.leases.give_back(saver.leases.take(PK, "first", 30), clean=False)
    assert saver.leases.take(PK, "second", 30).epoch == 1


def test_its_own_write_again_is_not_somebody_elses(saver: DynamoDBSaver, server: Dynamo) -> None:
    """The SDK repeats a write whose answer was lost. The repetition is refused, and the lease is ours."""
    client = server.fresh_client()
    sent: list[int] = []

    def twice(params: object, **_: object) -> None:
        sent.append(1)
        if len(sent) == 1:
            client.update_item(**request)

    request: dict[str, Any] = {}
    client.meta.events.register("provide-client-params.dynamodb.UpdateItem", lambda params, **_: request.update({} if sent else params))
    client.meta.events.register("before-call.dynamodb.UpdateItem", twice)
    grant = DynamoDBSaver(server.checkpoints, client=client).leases.take(PK, "first", 30)
    assert (grant.fence, grant.dead, len(sent)) == (1, frozenset(), 2)


@pytest.mark.parametrize("meanwhile", ["given back", "deleted"])
def test_it_becomes_free_while_it_is_asked_for(saver: DynamoDBSaver, server: Dynamo, meanwhile: str) -> None:
    """Refused first, and nobody's when it is looked at: taken then, and nobody has died."""
    first = saver.leases.take(PK, "first", 30)
    client = server.fresh_client()

    def free(**_: object) -> None:
        if meanwhile == "given back":
            saver.leases.give_back(first)
        else:
            server.client.delete_item(TableName=server.checkpoints, Key={"pk": {"S": PK}, "sk": {"S": "l!"}})

    client.meta.events.register_first("before-call.dynamodb.GetItem", free)
    second = DynamoDBSaver(server.checkpoints, client=client).leases.take(PK, "second", 30)
    assert (second.epoch, second.dead) == (0, frozenset())


def test_many_at_once(saver: DynamoDBSaver) -> None:
    """Of sixteen one has it; of sixteen that find it over, one takes it over."""

    def take(number: int) -> Grant | str:
        try:
            return saver.leases.take(PK, f"run {number}", 30)
        except ThreadBusy as busy:
            return busy.run_id

    for epoch in (0, 1):
        with ThreadPoolExecutor(16) as threads:
            results = list(threads.map(take, range(16)))
        (granted,) = (result for result in results if isinstance(result, Grant))
        assert (granted.epoch, {result for result in results if isinstance(result, str)}) == (epoch, {granted.run_id})
        saver.leases.beat(granted, -1)


def test_the_lease_lives_as_long_as_its_thread(server: Dynamo) -> None:
    """With a TTL it expires with what it protects, and never before its own end."""
    saver = DynamoDBSaver(server.checkpoints, client=server.client, ttl_seconds=3_600)
    saver.leases.take(PK, "first", 30)
    (item,) = server.items()
    assert item["expires_at"] == expiry.expiring(PK, 3_600)["expires_at"]


# what the saver asks before it writes


def _holding(seconds: float, *answers: bool) -> tuple[Holding, list[bool]]:
    left = list(answers)
    return Holding(seconds, lambda: left.pop(0), since=clocks()), left


def test_a_held_thread_is_written_to_without_a_question() -> None:
    """Within its time, nothing is asked."""
    holding, left = _holding(30, True)
    with holding.writing():
        assert left == [True]


def test_a_thawed_holder_asks_first() -> None:
    """Its time was over while it stood still: it renews the lease, or does not write."""
    holding, _ = _holding(0.02, True, False)
    time.sleep(0.03)
    with holding.writing():
        assert not holding.lost.is_set()
    time.sleep(0.03)
    with pytest.raises(LeaseLost), holding.writing():
        pass
    assert holding.lost.is_set()


@pytest.mark.parametrize("clock", [0, 1])
def test_either_clock_ends_it(clock: int) -> None:
    """The monotonic one stands still in a frozen environment, the calendar can be set back."""
    now = clocks()
    since = (now[0] - 31, now[1]) if clock == 0 else (now[0], now[1] - 31)
    assert Holding(30, lambda: True, since=since).over


def test_the_end_waits_for_writes_under_way() -> None:
    """A cancelled run leaves calls in their threads: the lease is not given back cleanly before they are done."""
    holding, _ = _holding(30)
    with pytest.raises(LeaseLost), holding.writing():
        assert not holding.close(0.01)
    assert holding.close(0)


def test_after_the_end_nothing_is_written_or_renewed() -> None:
    """What a run has left in a thread must not go on under the next one's lease, nor revive its own."""
    holding, left = _holding(30, True)
    assert holding.close(0)
    with pytest.raises(LeaseLost), holding.writing():
        pass
    assert (holding.beat(), left) == (False, [True])


def test_a_thread_belongs_to_the_code_of_its_first_run(saver: DynamoDBSaver) -> None:
    """Also of one that died; until a run of other code has looked at what is open, and then whatever becomes of that run."""
    assert saver.leases.take(PK, "first", -1, "1").code == "1"
    second = saver.leases.take(PK, "second", -1, "2")
    assert second.code == "1"
    third = saver.leases.take(PK, "third", -1, "2")
    assert third.code == "1"
    saver.leases.belongs(third, "2")
    assert saver.leases.take(PK, "fourth", 30, "1").code == "2"


def test_code_without_a_version_leaves_the_threads_version(saver: DynamoDBSaver) -> None:
    """Nothing is known of it; a thread of such code alone has none."""
    assert saver.leases.take(PK, "first", -1).code == ""
    assert saver.leases.take(PK, "second", -1, "1").code == "1"
    assert saver.leases.take(PK, "third", -1).code == "1"
