from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.store import keys

ODD = [
    "",
    "a",
    "a#b",
    "a:::b",
    "a b",
    "a!b",
    'a"b',
    'a"21b',
    "日本語",
    "🙂",
    "\x00",
    "\n",
    "\ud800",
    "~",
    '"~',
    "node:1|child:2",
    "a" * 5_000,
]
IDS = st.text(st.characters(), max_size=40)


@pytest.mark.parametrize("text", ODD[:-1])
def test_decode_gives_back_the_id(text: str) -> None:
    """Every id of usual length comes back from its key."""
    assert keys.decode(keys.encode(text, 200)) == text


def test_odd_ids_do_not_collide() -> None:
    """Ids that only differ in separators and escapes have keys of their own."""
    assert len({keys.encode(text, 200) for text in ODD}) == len(ODD)


@settings(deadline=None)
@given(IDS, IDS, IDS, IDS)
def test_no_two_pairs_share_a_key(a: str, b: str, c: str, d: str) -> None:
    """(namespace, checkpoint) pairs are equal exactly when their keys are."""
    assert (keys.checkpoint_key(a, b) == keys.checkpoint_key(c, d)) == ((a, b) == (c, d))
    assert (keys.partition(a, b) == keys.partition(c, d)) == ((a, b) == (c, d))


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_keys_sort_as_ids(a: str, b: str) -> None:
    """The latest checkpoint of the table is the one with the greatest id."""
    assert (keys.checkpoint_key("", a) < keys.checkpoint_key("", b)) == (a < b)


@settings(deadline=None)
@given(IDS, IDS)
def test_prefix_range(namespace: str, checkpoint_id: str) -> None:
    """The range of a namespace holds all its checkpoints, and none of a namespace that starts alike."""
    low = keys.namespace_prefix("c", namespace)
    assert low <= keys.checkpoint_key(namespace, checkpoint_id) < keys.after(low)
    assert not low <= keys.checkpoint_key(namespace + "x", checkpoint_id) < keys.after(low)
    assert not low <= keys.checkpoint_key(namespace + " ", checkpoint_id) < keys.after(low)


def test_keys_fit_the_limits_of_dynamodb() -> None:
    """2,048 bytes of partition key and 1,024 of sort key hold for the longest ids."""
    long = "🙂" * 3_000
    assert len(keys.partition(long, long).encode()) <= 2_048
    assert len(keys.writes_key(long, long, long, 99_999).encode()) <= 1_024
    assert len(f"{keys.chunks_prefix('n' * 500, 'c' * 200)}{'t' * 32}!00000") <= 1_024
