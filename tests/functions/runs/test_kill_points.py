"""A process dies or freezes at a call of its run, and another one goes on with the thread.

Here at those boundaries that make a difference to who comes next, on dynalite; `python -m tests.functions.runs.kill_points` takes every
boundary, every way to go on, and a bucket. Its table is in results/kill_points.txt.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from functions.store.clients import dynamodb_client
from functions.store.tables import create_tables
from tests.functions.runs.kill_points import LEASE_SECONDS, Freeze, Point, Theatre, line, thawed
from tests.support.boundaries import Boundary
from tests.support.dynamodb import REGION, dynalite_endpoint
from tests.support.mortal_run import Json, World

__all__ = ["dynalite_endpoint"]

CAN_RUN_TWICE = {
    "ask": {"model"},
    "answer": {"model", "pay pay1"},
    "tools": {"model", "look left2", "look right2"},
    "take-over": {"model", "look left2", "look right2"},
}
"""Model calls and tools of each story, when the process ends after they did their work and before their result is stored. (In the last one
a process died before, with the result of one of the two tools stored.)"""
TAKING_OVER = 5
"""Its first calls: the lease refused, taken over, and what the thread stands on copied."""
CLAIM = Boundary("before", "PutItem answer", 1)

# wall, where many tests share two processors
pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def theatre(dynalite_endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    table = create_tables(dynamodb_client(dynalite_endpoint, REGION), "kill-")["checkpoints"]
    return Theatre(World(dynalite_endpoint, table, None, tmp_path_factory.mktemp("journals"), LEASE_SECONDS))


@pytest.fixture(scope="module")
def killed(theatre: Theatre) -> list[Point]:
    """Every story, cut off at its boundaries and gone on with; of the one that takes over, while it does so."""
    at = {name: theatre.telling(story) for name, story in theatre.stories.items()}
    sealing = {"take-over": at["take-over"][:TAKING_OVER]}
    twice, once = ({name: at[name] for name in names} for names in (["ask", "answer", "tools"], []))
    return [*theatre.points(twice, ["again", "other"]), *theatre.points(once | sealing, ["again"])]


def test_the_same_request_brings_the_thread_to_where_it_would_be(killed: list[Point]) -> None:
    """No point leaves it stuck, loses what was said, or takes it in twice."""
    points = [point for point in killed if point.how != "other"]
    assert [line(point) for point in points if point.account.messages != point.reference] == []
    assert {point.story.name for point in points} == set(CAN_RUN_TWICE)


def test_nothing_runs_twice_whose_result_was_stored(killed: list[Point]) -> None:
    """And of the rest exactly what is listed: a tool with side effects needs a key of its own for that case."""
    twice: dict[str, set[str]] = defaultdict(set)
    for point in killed:
        assert not point.account.wrongly, line(point)
        twice[point.story.name] |= set(point.account.twice)
    assert {name: twice[name] for name in ("ask", "answer", "tools")} == {n: CAN_RUN_TWICE[n] for n in ("ask", "answer", "tools")}
    assert all(found <= CAN_RUN_TWICE[name] for name, found in twice.items())


def test_an_answer_that_was_claimed_is_kept(killed: list[Point]) -> None:
    """A contrary answer after the process died: it counts until the first one is claimed, and from then on it is refused."""
    points = [point for point in killed if point.story.name == "answer" and point.how == "other"]
    claimed = [point.boundary for point in points].index(CLAIM)
    for number, point in enumerate(points):
        texts = [message["text"] for message in point.account.messages if message["type"] == "tool"]
        kept = number > claimed
        assert texts == ["paid 5" if kept else "refused"], line(point)
        assert point.account.said[0] == ("other: ALREADY_ANSWERED" if kept else "other: success"), line(point)


def test_another_message_goes_on_with_the_thread(killed: list[Point]) -> None:
    """Who says something else instead gets an answer to it, and every call in the history has its one result."""
    for point in [point for point in killed if point.story.question is None and point.how == "other"]:
        *_, last = messages = point.account.messages
        assert last["text"] == "done", line(point)
        assert [message["text"] for message in messages if message["type"] == "human"][-1] == "look elsewhere", line(point)
        assert _calls(messages) == sorted(message["of"] for message in messages if message["type"] == "tool"), line(point)


def _calls(messages: tuple[Json, ...]) -> list[str]:
    return sorted(call for message in messages for call in message.get("calls", ()))


@pytest.fixture(scope="module")
def frozen(theatre: Theatre) -> list[Freeze]:
    story = theatre.stories["answer"]
    return list(theatre.freezes(story, theatre.telling(story)))


def test_a_thawed_process_changes_nothing_any_more(frozen: list[Freeze]) -> None:
    """Whatever call it was frozen in: what is read is what the process says that took the thread over, also of the writes that were under
    way (two, where two tasks end at once)."""
    for freeze in frozen:
        assert freeze.account.messages == freeze.reference, thawed(freeze)
        assert freeze.messages == freeze.reference, thawed(freeze)
        assert len(freeze.wrote) <= 2, thawed(freeze)


def test_a_thawed_process_knows_that_its_lease_is_lost(frozen: list[Freeze]) -> None:
    """It runs no tool and no model, and its run ends in an error; unless all was done when it froze, or nothing begun."""
    for freeze in frozen:
        assert freeze.ran == (), thawed(freeze)
        begun_and_undone = not freeze.boundary.call.startswith("UpdateItem lease")
        assert freeze.outcome == ("LEASE_LOST" if begun_and_undone else "success"), thawed(freeze)
