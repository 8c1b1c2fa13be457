"""LangGraph's three ways to store a run: with every step before the next, beside the next, or at the end."""

from __future__ import annotations

from typing import Any

from langgraph.types import Command

from tests.functions.store.behaviour.samples import asking, line, saying
from tests.functions.store.behaviour.stores import Store
from tests.support.checkpoints import config
from tests.support.graphs import Compiled

AT: Any = config("t", None)


def _seen_by_the_next_step(store: Store, durability: Any) -> list[str]:
    """What another process reads while the second node runs."""
    seen: list[str] = []

    def watch(_: Any) -> dict[str, Any]:
        found = store.saver().get_tuple(config("t"))
        seen.extend(found.checkpoint["channel_values"].get("log", []) if found else ["nothing"])
        return {"log": ["watched"]}

    line(store.saver(), *saying("a"), watch).invoke({"log": ["x"]}, AT, durability=durability)
    return seen


def sync_stores_a_step_before_the_next(store: Store) -> None:
    """Killed during the next step, nothing of this one is lost."""
    assert _seen_by_the_next_step(store, "sync") == ["x", "a"]


def exit_stores_at_the_end(store: Store) -> None:
    """One checkpoint for the whole run, and nothing before."""
    assert _seen_by_the_next_step(store, "exit") == ["nothing"]
    assert line(store.saver(), *saying("a", "watch")).get_state(AT).values["log"] == ["x", "a", "watched"]
    assert len(list(store.saver().list(config("t")))) == 1


def _asked_and_answered(store: Store, durability: Any) -> None:

    def made() -> Compiled:
        return line(store.saver(), *saying("a"), asking("ask", "?"), *saying("b"))

    made().invoke({"log": []}, AT, durability=durability)
    assert [one.value for one in made().get_state(AT).interrupts] == ["?"]
    assert made().invoke(Command(resume="yes"), AT, durability=durability)["log"] == ["a", "ask: yes", "b"]
    assert made().get_state(AT).values["log"] == ["a", "ask: yes", "b"]


def an_interrupt_with_durability_sync(store: Store) -> None:
    """Asked, stored, and answered by another process."""
    _asked_and_answered(store, "sync")


def an_interrupt_with_durability_async(store: Store) -> None:
    """The same."""
    _asked_and_answered(store, "async")


def an_interrupt_with_durability_exit(store: Store) -> None:
    """The same: an interrupt is an end."""
    _asked_and_answered(store, "exit")
