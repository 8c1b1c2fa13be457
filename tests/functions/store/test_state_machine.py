"""Whatever is called in whatever order: the answers are those of InMemorySaver.

What InMemorySaver does not offer (copy_thread, prune, delete_for_runs) is done to its dictionaries here.
"""

from __future__ import annotations

import copy
import itertools
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import AncestorMissing
from tests.support.checkpoints import checkpoint, config, noise
from tests.support.dynamodb import Dynamo

NIGHTLY = "nightly"
BY_HAND = settings.get_current_profile_name() == NIGHTLY
EXAMPLES, STEPS = (100, 50) if BY_HAND else (14, 25)

THREADS = st.sampled_from(["t", "t!"])
NAMESPACES = st.sampled_from(["", "child:1"])
IDS = st.sampled_from(["1", "2", "3", "4"])
"""Few, and in no order of time: ids repeat, and a parent may be younger than its child."""
RUNS = st.sampled_from(["r1", "r2"])
TASKS = st.sampled_from(["a", "b", "c"])
PATHS = st.sampled_from(["", "~1", "~2"])
CHANNELS = st.sampled_from(["log", "ch", ERROR, INTERRUPT, RESUME])
LARGE = st.builds(noise, st.just(360_000))
VALUES = st.one_of(st.none(), st.integers(0, 9), st.binary(max_size=3), st.lists(st.integers(0, 3), max_size=2), LARGE)
SAVERS = st.sampled_from([0, 1])
"""As two processes on one table: neither knows what the other did."""


class Model:
    """InMemorySaver, and on its dictionaries what it does not offer."""

    def __init__(self) -> None:
        self.saver = InMemorySaver()

    def ids(self, thread_id: str, namespace: str) -> list[str]:
        return sorted(self.saver.storage[thread_id][namespace])

    def forget(self, thread_id: str, namespace: str, checkpoint_id: str) -> None:
        """The checkpoint and its writes."""
        del self.saver.storage[thread_id][namespace][checkpoint_id]
        self.saver.writes.pop((thread_id, namespace, checkpoint_id), None)

    def places(self) -> Iterator[tuple[str, str, str]]:
        for thread_id, namespaces in list(self.saver.storage.items()):
            for namespace, found in list(namespaces.items()):
                yield from ((thread_id, namespace, checkpoint_id) for checkpoint_id in list(found))

    def delete_for_runs(self, run_ids: list[str]) -> None:
        for thread_id, namespace, checkpoint_id in list(self.places()):
            metadata = self.saver.serde.loads_typed(self.saver.storage[thread_id][namespace][checkpoint_id][1])
            if metadata.get("run_id") in run_ids:
                self.forget(thread_id, namespace, checkpoint_id)

    def copy_thread(self, source: str, target: str) -> None:
        self.saver.storage[target] = copy.deepcopy(self.saver.storage[source])
        kept: Any  # keys of three parts, and of four
        for kept in (self.saver.writes, self.saver.blobs):
            for key in [key for key in kept if key[0] == source]:
                kept[(target, *key[1:])] = copy.deepcopy(kept[key])

    def prune(self, thread_id: str) -> None:
        for _, namespace, checkpoint_id in [place for place in self.places() if place[0] == thread_id]:
            if checkpoint_id != max(self.ids(thread_id, namespace)):
                self.forget(thread_id, namespace, checkpoint_id)

    def comes_from(self, thread_id: str, namespace: str, checkpoint_id: str | None, ancestor: str) -> bool:
        found = self.saver.storage[thread_id][namespace]
        while checkpoint_id in found and checkpoint_id != ancestor:
            checkpoint_id = found[checkpoint_id][2]
        return checkpoint_id == ancestor

    def chain_is_whole(self, thread_id: str, namespace: str, checkpoint_id: str, channel: str) -> bool:
        """Whether every ancestor down to the channel's value, or the root, is there."""
        found = self.saver.storage[thread_id][namespace]
        parent = found[checkpoint_id][2] if checkpoint_id in found else None
        while parent is not None:
            if parent not in found:
                return False
            values = self.saver.get_tuple(config(thread_id, namespace, parent))
            if values and channel in values.checkpoint["channel_values"]:
                return True
            parent = found[parent][2]
        return True


def plain(found: CheckpointTuple | None) -> Any:
    """What two savers must agree on."""
    if found is None:
        return None
    at = found.config["configurable"]
    parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
    return at["thread_id"], at["checkpoint_ns"], at["checkpoint_id"], parent, found.checkpoint, found.metadata, found.pending_writes


class Machine(RuleBasedStateMachine):
    """Every rule does the same to both and compares the answers."""

    def __init__(self, dynamo: Dynamo) -> None:
        super().__init__()
        self.model = Model()
        principal = uuid.uuid4().hex
        self.savers = [DynamoDBSaver(dynamo.checkpoints, client=dynamo.client).for_principal(principal) for _ in range(2)]
        self.versions = itertools.count(1)

    def compare_all(self, by: int) -> None:
        """Before something goes."""
        self.list_over_namespaces(by, None, None)

    def teardown(self) -> None:
        self.compare_all(0)
        for thread_id in list(self.model.saver.storage):
            self.savers[0].delete_thread(thread_id)
        assert list(self.savers[0].list(None)) == []

    @rule(
        by=SAVERS,
        thread=THREADS,
        ns=NAMESPACES,
        own=IDS,
        parent=st.none() | IDS,
        values=st.dictionaries(st.sampled_from(["log", "n"]), VALUES),
        run=RUNS,
    )
    def put(self, by: int, thread: str, ns: str, own: str, parent: str | None, values: dict[str, Any], run: str) -> None:
        if self.model.comes_from(thread, ns, parent, own):
            parent = None
        made = checkpoint(values, own)
        made["channel_versions"] = {name: next(self.versions) for name in values}
        for saver in (self.model.saver, self.savers[by]):
            saver.put(
                config(thread, ns, parent, tenant=run), copy.deepcopy(made), {"run_id": run, "step": int(own)}, made["channel_versions"]
            )

    @rule(
        by=SAVERS, thread=THREADS, ns=NAMESPACES, own=IDS, task=TASKS, path=PATHS, writes=st.lists(st.tuples(CHANNELS, VALUES), max_size=5)
    )
    def put_writes(self, by: int, thread: str, ns: str, own: str, task: str, path: str, writes: list[tuple[str, Any]]) -> None:
        for saver in (self.model.saver, self.savers[by]):
            saver.put_writes(config(thread, ns, own), writes, task, path)

    @rule(by=SAVERS, thread=THREADS, ns=NAMESPACES, own=IDS, run=RUNS, paths=st.permutations(["", "~1", "~2"]))
    def put_a_step(self, by: int, thread: str, ns: str, own: str, run: str, paths: list[str]) -> None:
        """A checkpoint after another one, and the writes of three parallel tasks."""
        self.put(by, thread, ns, "0", None, {"log": ["seed"]}, run)
        self.put(by, thread, ns, own, "0", {"n": own}, run)
        for task, path in zip("abc", paths, strict=True):
            self.put_writes(by, thread, ns, own, task, path, [("log", [path]), ("ch", task)])

    @rule(by=SAVERS, thread=THREADS, ns=NAMESPACES, own=st.none() | IDS)
    def get(self, by: int, thread: str, ns: str, own: str | None) -> None:
        at = config(thread, ns, own)
        assert plain(self.savers[by].get_tuple(at)) == plain(self.model.saver.get_tuple(at))

    @rule(
        by=SAVERS,
        thread=THREADS,
        ns=NAMESPACES,
        before=st.none() | IDS,
        limit=st.none() | st.integers(0, 3),
        filter=st.none() | st.fixed_dictionaries({"run_id": RUNS}) | st.fixed_dictionaries({"tenant": RUNS}),
    )
    def list_a_namespace(self, by: int, thread: str, ns: str, before: str | None, limit: int | None, filter: dict[str, Any] | None) -> None:
        options: Any = {"limit": limit, "filter": filter, "before": before and config(thread, ns, before)}
        at = config(thread, ns)
        assert [plain(one) for one in self.savers[by].list(at, **options)] == [plain(one) for one in self.model.saver.list(at, **options)]

    @rule(by=SAVERS, thread=st.none() | THREADS, filter=st.none() | st.fixed_dictionaries({"run_id": RUNS}))
    def list_over_namespaces(self, by: int, thread: str | None, filter: dict[str, Any] | None) -> None:
        at = thread and config(thread, None)
        found, expected = ([plain(one) for one in saver.list(at, filter=filter)] for saver in (self.savers[by], self.model.saver))  # type: ignore[arg-type]
        assert sorted(found, key=_place) == sorted(expected, key=_place)
        assert [one[2] for one in found] == sorted((one[2] for one in found), reverse=True)

    @rule(by=SAVERS, thread=THREADS, ns=NAMESPACES, own=st.none() | IDS)
    def delta_history(self, by: int, thread: str, ns: str, own: str | None) -> None:
        at = config(thread, ns, own)
        latest = own or max(self.model.ids(thread, ns), default="")
        if self.model.chain_is_whole(thread, ns, latest, "log"):
            expected = self.model.saver.get_delta_channel_history(config=at, channels=["log"])
            assert self.savers[by].get_delta_channel_history(config=at, channels=["log"]) == expected
        else:
            with pytest.raises(AncestorMissing):
                self.savers[by].get_delta_channel_history(config=at, channels=["log"])

    @rule(by=SAVERS, thread=THREADS)
    def delete_thread(self, by: int, thread: str) -> None:
        self.compare_all(by)
        self.model.saver.delete_thread(thread)
        self.savers[by].delete_thread(thread)

    @rule(by=SAVERS, runs=st.lists(RUNS, max_size=2))
    def delete_for_runs(self, by: int, runs: list[str]) -> None:
        self.compare_all(by)
        self.model.delete_for_runs(runs)
        self.savers[by].delete_for_runs(runs)

    @rule(by=SAVERS, source=THREADS, to=THREADS)
    def copy_thread(self, by: int, source: str, to: str) -> None:
        """To an empty thread: what a copy onto another means is nowhere said."""
        self.compare_all(by)
        if source != to:
            self.delete_thread(by, to)
            self.model.copy_thread(source, to)
            self.savers[by].copy_thread(source, to)

    @rule(by=SAVERS, thread=THREADS)
    def prune(self, by: int, thread: str) -> None:
        self.compare_all(by)
        self.model.prune(thread)
        self.savers[by].prune([thread])


def _place(found: tuple[str, ...]) -> tuple[str, ...]:
    return found[:3]


@pytest.mark.long
@pytest.mark.timeout(7200 if BY_HAND else 120)
def test_every_order_of_calls(dynalite: Dynamo) -> None:
    """Puts, writes, reads, deletions, copies and prunes by two savers on one table give what InMemorySaver gives."""
    profile = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: Machine(dynalite), settings=profile)  # type: ignore[arg-type]  # a factory is what it calls
