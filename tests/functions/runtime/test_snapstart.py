"""`functions.runtime.snapstart`: hooks around the snapshot, and random numbers that clones do not share."""

from __future__ import annotations

import asyncio
import random
import sys
from types import ModuleType, SimpleNamespace

import pytest
import uuid_utils

from functions.runtime.client import RuntimeClient
from functions.runtime.loop import Environment
from functions.runtime.snapstart import AFTER_RESTORE_EXIT, BEFORE_SNAPSHOT_EXIT, Hook, reseed
from infra.local.runtime_api import RuntimeApi
from tests.support.events import url_event
from tests.support.runtime import ask, serving
from tests.support.streaming_app import make_app


class Registry(ModuleType):
    """`snapshot_restore_py` as Lambda's Python has it: hooks with their arguments, in the order they were registered."""

    def __init__(self) -> None:
        super().__init__("snapshot_restore_py")
        self.__spec__ = SimpleNamespace(name=self.__name__)  # type: ignore[assignment]
        self.log: list[str] = []
        self.before: list[Hook] = []
        self.after: list[Hook] = []

    def get_before_snapshot(self) -> list[Hook]:
        return self.before

    def get_after_restore(self) -> list[Hook]:
        return self.after

    def note(self, name: str) -> None:
        self.log.append(name)

    async def note_later(self, name: str) -> None:
        await asyncio.sleep(0)
        self.log.append(name)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry()
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", made)
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    return made


async def test_hooks_in_order(registry: Registry) -> None:
    """Before-hooks run in reverse before `restore/next`, after-hooks in order after it, coroutines too, all before `next`."""
    registry.before = [(registry.note, ("before 1",), {}), (registry.note_later, ("before 2",), {})]
    registry.after = [(registry.note, (), {"name": "after 1"}), (registry.note_later, ("after 2",), {})]
    async with serving(make_app()) as api:
        await asyncio.wait_for(api.snapshot_ready.wait(), 5)
        assert registry.log == ["before 2", "before 1"]
        api.restore()
        assert (await ask(api, url_event("/items/"))).prelude.status == 200
    assert registry.log[2:] == ["after 1", "after 2"]


def explode() -> None:
    raise ValueError("hook")


async def test_a_failing_before_hook(registry: Registry) -> None:
    """Reported with `init/error`, exit 64."""
    registry.before = [(explode, (), {})]
    api = RuntimeApi()
    await api.start()
    with pytest.raises(SystemExit) as stopped:
        await Environment(make_app(), RuntimeClient(api.address)).run()
    assert (stopped.value.code, (await api.init_error).error_type) == (BEFORE_SNAPSHOT_EXIT, "Runtime.BeforeSnapshotError")
    await api.close()


async def test_a_failing_after_hook(registry: Registry) -> None:
    """Reported with `restore/error`, exit 65."""
    registry.after = [(explode, (), {})]
    api = RuntimeApi()
    await api.start()
    api.restore()
    with pytest.raises(SystemExit) as stopped:
        await Environment(make_app(), RuntimeClient(api.address)).run()
    assert (stopped.value.code, (await api.restore_error).error_type) == (AFTER_RESTORE_EXIT, "Runtime.AfterRestoreError")
    await api.close()


async def test_without_the_hooks_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside Lambda's image `snapshot_restore_py` is missing; the protocol is the same."""
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    async with serving(make_app()) as api:
        await asyncio.wait_for(api.snapshot_ready.wait(), 5)
        api.restore()
        assert (await ask(api, url_event("/items/"))).prelude.status == 200


async def test_random_is_reseeded_on_restore(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clones of one snapshot draw different numbers: the same state before, another after the restore."""
    drawn = []
    for _ in range(2):
        random.seed(42)
        async with serving(make_app()) as api:
            await asyncio.wait_for(api.snapshot_ready.wait(), 5)
            api.restore()
            await asyncio.wait_for(api.waiting.wait(), 5)
            drawn.append(random.random())
    assert drawn[0] != drawn[1]


def test_reseed_reaches_uuid_utils(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain's ids come from `uuid_utils`, whose generator is reseeded too, if it was loaded at all."""
    calls: list[str] = []
    monkeypatch.setattr(uuid_utils, "reseed_rng", lambda: calls.append("reseed"))
    reseed()
    monkeypatch.delitem(sys.modules, "uuid_utils")
    reseed()
    assert calls == ["reseed"]
