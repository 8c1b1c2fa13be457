"""Real graphs, read and continued through another saver every time, as by another process."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command, interrupt

from tests.functions.store.behaviour.putting import pending
from tests.functions.store.behaviour.samples import asking, counted, line, many_asking, paying, remembering, saying
from tests.functions.store.behaviour.stores import Store
from tests.support import graphs
from tests.support.checkpoints import config
from tests.support.graphs import Compiled

AT: Any = config("t", None)


def the_next_turn_goes_on(store: Store) -> None:
    """A thread is continued by another process."""
    for turn in ("1", "2"):
        line(store.saver(), *saying("a", "b")).invoke({"log": [turn]}, AT)
    assert line(store.saver(), *saying("a", "b")).get_state(AT).values == {"log": ["1", "a", "b", "2", "a", "b"]}


def an_interrupt_is_answered_elsewhere(store: Store) -> None:
    """The question is there for another process, whose answer runs the rest once."""
    paid: list[int] = []
    graphs.approval(store.saver(), paid).invoke({"log": []}, AT)
    assert [one.value for one in graphs.approval(store.saver(), paid).get_state(AT).interrupts] == [{"price": 7}]
    done = graphs.approval(store.saver(), paid).invoke(Command(resume="yes"), AT)
    assert (done["log"], paid) == (["quoted", "answered yes", "paid"], [7])


def an_interrupt_in_a_nested_graph(store: Store) -> None:
    """The same one level down; the parent's nodes do not run again."""
    paid: list[int] = []
    graphs.nested_approval(store.saver(), paid).invoke({"log": []}, AT)
    waiting = graphs.nested_approval(store.saver(), paid).get_state(AT, subgraphs=True)
    assert waiting.tasks[0].state.next == ("ask",)  # type: ignore[union-attr]
    done = graphs.nested_approval(store.saver(), paid).invoke(Command(resume="yes"), AT)
    assert done["log"] == ["before", "before", "quoted", "answered yes", "paid", "after"]
    assert paid == [7]


def a_nested_state_is_changed_while_it_waits(store: Store) -> None:
    """`update_state` on the child's own config: an editor between question and answer."""

    def made() -> Compiled:
        return line(store.saver(), *saying("before"), ("child", line(None, asking("ask", "?"))))

    made().invoke({"log": []}, AT)
    child: Any = made().get_state(AT, subgraphs=True).tasks[0].state
    made().update_state(child.config, {"log": ["edited"]})
    child = made().get_state(AT, subgraphs=True).tasks[0].state
    assert "edited" in child.values["log"]


def a_sub_graph_with_a_memory_of_its_own(store: Store) -> None:
    """`checkpointer=True`: what it counted in the last turn is there in the next."""
    for _ in range(3):
        done = remembering(store.saver()).invoke({"log": []}, AT)
    assert done["log"] == ["visit 1", "visit 2", "visit 3"]


def the_functional_api(store: Store) -> None:
    """`@entrypoint` and `@task`: finished tasks do not run again after an answer, and `previous` is what was saved."""
    ran: list[str] = []
    for order in "ab":
        asked = paying(store.saver(), ran).invoke(order, AT)
        assert [one.value for one in asked["__interrupt__"]] == [f"done quote {order}"]
        done = paying(store.saver(), ran).invoke(Command(resume="yes"), AT)
        assert done == [f"done quote {order}", "yes", f"done pay {order}", None if order == "a" else ["a"]]
    assert ran == ["quote a", "pay a", "quote b", "pay b"]


def two_questions_in_one_node(store: Store) -> None:
    """The first answer is kept while the second is asked for: RESUME has a slot of its own."""

    def made() -> Compiled:
        return line(store.saver(), ("ask", lambda _: {"log": [f"{interrupt('a?')}-{interrupt('b?')}"]}))

    made().invoke({"log": []}, AT)
    asked = made().invoke(Command(resume="A"), AT)
    assert [one.value for one in asked["__interrupt__"]] == ["b?"]
    assert made().invoke(Command(resume="B"), AT)["log"] == ["A-B"]


def parallel_questions_answered_one_by_one(store: Store) -> None:
    """Each by its id, by processes of their own; what was answered stays answered."""
    many_asking(store.saver(), 3).invoke({"log": []}, AT)
    for _ in range(3):
        waiting = many_asking(store.saver(), 3).get_state(AT).interrupts
        done = many_asking(store.saver(), 3).invoke(Command(resume={waiting[0].id: f"yes {waiting[0].value}"}), AT)
    assert done["log"] == ["0: yes 0", "1: yes 1", "2: yes 2"]


def a_breakpoint(store: Store) -> None:
    """`interrupt_before`: the run stops and another process goes on."""

    def made() -> Compiled:
        return line(store.saver(), *saying("a", "b"), interrupt_before=["b"])

    assert made().invoke({"log": []}, AT)["log"] == ["a"]
    assert made().get_state(AT).next == ("b",)
    assert made().invoke(None, AT)["log"] == ["a", "b"]


def of_sixty_tasks_the_failed_one_runs_again(store: Store) -> None:
    """Pending sends and the writes of the tasks that ended: the next process runs the one that failed, and no other."""
    ran: list[int] = []
    with pytest.raises(RuntimeError, match="task 31 failed"):
        graphs.fan_out(store.saver(), {31}, ran).invoke({"done": []}, AT, durability="sync")
    failed = [str(one.error) for one in graphs.fan_out(store.saver(), set(), ran).get_state(AT).tasks if one.error]
    assert any("task 31 failed" in text for text in failed)
    stored = [value for _, channel, value in pending(store.saver(), "t") if channel == "done"]
    ran.clear()
    done = graphs.fan_out(store.saver(), set(), ran).invoke(None, AT)
    assert done["done"] == list(range(60))
    assert sorted([*ran, *(number for (number,) in stored)]) == list(range(60))


def thirty_pending_sends_in_order(store: Store) -> None:
    """A run that stopped before thirty tasks has them all, in the order they were sent."""

    def made() -> Compiled:
        return many_asking(store.saver(), 30)

    made().invoke({"log": []}, AT)
    waiting = made().get_state(AT)
    assert [one.value for one in waiting.interrupts] == list(range(30))
    done = made().invoke(Command(resume={one.id: "ok" for one in waiting.interrupts}), AT)
    assert done["log"] == [f"{number}: ok" for number in range(30)]


def the_history_of_a_run(store: Store) -> None:
    """Every step with its next nodes, source and parent."""
    line(store.saver(), *saying("a", "b")).invoke({"log": ["x"]}, AT)
    history = list(line(store.saver(), *saying("a", "b")).get_state_history(AT))
    assert [(one.next, one.metadata["source"], one.metadata["step"]) for one in history if one.metadata] == [
        ((), "loop", 2),
        (("b",), "loop", 1),
        (("a",), "loop", 0),
        (("__start__",), "input", -1),
    ]
    assert [one.parent_config for one in history[:-1]] == [one.config for one in history[1:]]


def time_travel(store: Store) -> None:
    """From a checkpoint of the past the steps after it run again; the thread goes on from there."""
    ran: list[str] = []

    def made() -> Compiled:
        return line(store.saver(), *saying("a"), counted("b", ran))

    made().invoke({"log": []}, AT)
    past = next(one for one in made().get_state_history(AT) if one.next == ("b",))
    assert made().invoke(None, past.config)["log"] == ["a", "b"]
    assert ran == ["b", "b"]
    assert made().get_state(past.config).values == {"log": ["a"]}


def a_fork(store: Store) -> None:
    """A changed past is a branch: what it leads to is the latest, what came before it is as it was."""

    def made() -> Compiled:
        return line(store.saver(), *saying("a", "b"))

    made().invoke({"log": []}, AT)
    history = list(made().get_state_history(AT))
    forked = made().update_state(history[1].config, {"log": ["changed"]}, as_node="a")
    assert made().invoke(None, forked)["log"] == ["a", "changed", "b"]
    assert made().get_state(AT).values["log"] == ["a", "changed", "b"]
    assert made().get_state(history[0].config).values["log"] == ["a", "b"]
    assert [one.config for one in made().get_state_history(AT)][2:] == [one.config for one in history]


def update_state(store: Store) -> None:
    """A change from outside is a checkpoint of its own, by the node it is said to be of."""

    def made() -> Compiled:
        return line(store.saver(), *saying("a", "b"), interrupt_before=["b"])

    made().invoke({"log": []}, AT)
    made().update_state(AT, {"log": ["edited"]}, as_node="a")
    found = made().get_state(AT)
    assert (found.values["log"], found.next) == (["a", "edited"], ("b",))
    assert (found.metadata or {})["source"] == "update"


def metadata_named_step_and_source(store: Store) -> None:
    """A run whose own metadata has these names keeps LangGraph's, and the next turn runs."""
    at = AT | {"metadata": {"step": "mine", "source": "mine", "parents": "mine", "tag": "x"}}
    for _ in range(2):
        line(store.saver(), *saying("a")).invoke({"log": []}, at)
    latest = line(store.saver(), *saying("a")).get_state(AT)
    assert latest.values["log"] == ["a", "a"]
    assert [(latest.metadata or {})[name] for name in ("source", "step")] == ["loop", 4]


def a_node_that_fails_is_tried_again(store: Store) -> None:
    """What ran before it does not run again."""
    ran: list[str] = []

    def flaky(_: Any) -> dict[str, Any]:
        ran.append("flaky")
        if len(ran) == 2:
            raise RuntimeError("boom")
        return {"log": ["flaky"]}

    first = counted("first", ran)
    with pytest.raises(RuntimeError, match="boom"):
        line(store.saver(), first, flaky).invoke({"log": []}, AT, durability="sync")
    assert line(store.saver(), first, flaky).invoke(None, AT)["log"] == ["first", "flaky"]
    assert ran == ["first", "flaky", "flaky"]
