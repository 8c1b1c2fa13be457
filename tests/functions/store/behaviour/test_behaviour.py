"""The same functions against LangGraph's own savers and ours: where an expectation is wrong, those fail too.

Most run on dynalite here, since the tests of the saver's parts run on moto; `HYPOTHESIS_PROFILE=nightly` runs every one on every server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.functions.store.behaviour.catalog import BEHAVIOURS, FAILS, NOT_OFFERED, OK, outcome, subject
from tests.functions.store.behaviour.dynamo import DynamoStore, ours
from tests.functions.store.behaviour.stores import Memory, Sqlite, Store

BEYOND = (
    "deleting_runs",
    "copying_a_thread",
    "a_copy_of_large_values",
    "pruning_keeps_the_latest",
    "pruning_can_delete",
    "a_pruned_delta_thread_is_whole",
    "what_has_expired_is_not_served",
    "what_has_not_expired_is_served",
    "nothing_is_left_when_it_expires",
    "a_thread_in_use_stays_whole",
    "a_question_that_was_read_lives_on",
)
"""LangGraph's interface has them, its own savers do not offer them."""
EXPECTED = {(server, name): NOT_OFFERED for server in ("memory", "sqlite") for name in BEYOND}

LARGE = ("deleting_takes_large_values", "a_copy_of_large_values", "encryption", "a_large_checkpoint_that_was_cut_off")
"""Go elsewhere with a bucket, as do those of the module `sizes`."""
SERVERS = ("memory", "sqlite", "moto", "moto_and_s3", "dynalite_store")


def _servers(name: str) -> tuple[str, ...]:
    if settings.get_current_profile_name() == "nightly":
        return SERVERS
    if name == "strict_msgpack":  # a process each
        return ("moto",)
    if subject(name) == "sizes" or name in LARGE:
        return "memory", "sqlite", "moto_and_s3", "dynalite_store"
    return "memory", "sqlite", "moto" if subject(name) == "faults" else "dynalite_store"


@pytest.fixture
def memory() -> Store:
    return Memory()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Store]:
    store = Sqlite(tmp_path)
    yield store
    store.close()


@pytest.fixture(scope="module")
def moto_tables(moto_endpoint: str) -> DynamoStore:
    return ours("moto", moto_endpoint, with_bucket=True)


@pytest.fixture
def moto(moto_tables: DynamoStore) -> Iterator[Store]:
    yield moto_tables.again(bucket=None)
    moto_tables.clear()


@pytest.fixture
def moto_and_s3(moto_tables: DynamoStore) -> Iterator[Store]:
    yield moto_tables.again(bucket=moto_tables.bucket)
    moto_tables.clear()


@pytest.fixture(scope="module")
def dynalite_tables(dynalite_endpoint: str) -> DynamoStore:
    return ours("dynalite", dynalite_endpoint)


@pytest.fixture
def dynalite_store(dynalite_tables: DynamoStore) -> Iterator[Store]:
    yield dynalite_tables.again(bucket=None)
    dynalite_tables.clear()


def _is_slow(name: str, server: str) -> bool:
    return server == "moto_and_s3" or name in ("strict_msgpack", "deleting_a_thousand_checkpoints")


@pytest.mark.parametrize(
    ("name", "server"),
    [
        pytest.param(name, server, marks=pytest.mark.long if _is_slow(name, server) else ())
        for name in BEHAVIOURS
        for server in _servers(name)
    ],
)
def test_behaviour(request: pytest.FixtureRequest, name: str, server: str) -> None:
    """As the behaviour's docstring says; those that LangGraph's savers do not offer are named above."""
    store: Store = request.getfixturevalue(server)
    found, error = outcome(name, store)
    if found == FAILS and error:
        raise error
    assert found == EXPECTED.get((server, name), OK), error


def test_every_behaviour_says_what_it_claims() -> None:
    """The docstring is what the table of `tests.bench.behaviour` is explained by."""
    assert [name for name, behaviour in BEHAVIOURS.items() if not behaviour.__doc__] == []
    assert set(BEYOND) | set(LARGE) <= set(BEHAVIOURS)
