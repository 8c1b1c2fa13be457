"""SnapStart: what runs before the snapshot is taken and in each clone of it.

The order and the exit codes are those of AWS's own runtime (`awslambdaric.bootstrap.on_init_complete`); the hooks run in our loop and may
be coroutine functions.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import random
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from functions.runtime.client import RuntimeClient
from functions.runtime.failure import Failure

BEFORE_SNAPSHOT_EXIT = 64
AFTER_RESTORE_EXIT = 65

Hook = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def enabled() -> bool:
    return os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start"


async def pass_snapshot(client: RuntimeClient) -> None:
    """Runs the hooks around the snapshot. A failing one is reported and ends the process (exit 64 before, 65 after)."""
    before, after = _hooks()
    # the last one registered first, as AWS does: what was built last is taken down first
    await _guard(_run(reversed(before)), client.init_error, "Runtime.BeforeSnapshotError", BEFORE_SNAPSHOT_EXIT)
    await client.restore_next()
    reseed()
    await _guard(_run(after), client.restore_error, "Runtime.AfterRestoreError", AFTER_RESTORE_EXIT)


def before_snapshot(call: Callable[..., Any], *args: Any) -> None:
    """Has it called before the snapshot; a coroutine function in our loop. Nothing where Lambda's Python does not do so."""
    if importlib.util.find_spec("snapshot_restore_py") is not None:
        importlib.import_module("snapshot_restore_py").register_before_snapshot(call, *args)


def reseed() -> None:
    """Makes this clone's random numbers its own. All clones share the state of `random` (LangGraph's checkpoint ids come from it)
    and of `uuid_utils` (LangChain's run and message ids)."""
    random.seed()
    uuid_utils = sys.modules.get("uuid_utils")
    if uuid_utils is not None:
        uuid_utils.reseed_rng()


def _hooks() -> tuple[list[Hook], list[Hook]]:
    """What `snapshot_restore_py` (part of Lambda's Python) has collected, or nothing where it is not installed."""
    if importlib.util.find_spec("snapshot_restore_py") is None:
        return [], []
    registry = importlib.import_module("snapshot_restore_py")
    return list(registry.get_before_snapshot()), list(registry.get_after_restore())


async def _run(hooks: Iterable[Hook]) -> None:
    for call, args, kwargs in hooks:
        result = call(*args, **kwargs)
        if inspect.isawaitable(result):
            await result


async def _guard(work: Awaitable[None], report: Callable[[Failure], Awaitable[Any]], error_type: str, exit_code: int) -> None:
    try:
        await work
    except Exception as exc:
        await report(Failure.of(exc, error_type))
        raise SystemExit(exit_code) from exc
