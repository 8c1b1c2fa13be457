"""How the behaviours put and read, by the calls LangGraph makes."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from botocore.exceptions import ClientError
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from tests.functions.store.behaviour.stores import NotOffered, Saver
from tests.support.checkpoints import checkpoint, config, noise

LARGE = noise(500_000)
Writes = Sequence[tuple[str, Any]]


def put(saver: Saver, at: RunnableConfig, values: dict[str, Any] | None = None, **metadata: Any) -> RunnableConfig:
    """Stores a checkpoint under `at` (whose id is the parent's), its values under versions of its own; returns its config."""
    made = checkpoint(values)
    made["channel_versions"] = dict.fromkeys(made["channel_values"], made["id"])
    return saver.put(at, made, {"source": "loop", "step": 0, **metadata}, made["channel_versions"])  # type: ignore[typeddict-item]


def put_large(saver: Saver, thread_id: str) -> RunnableConfig:
    """For what is said of values over 400 KB; that they can be stored at all is said in `sizes`."""
    try:
        return put(saver, config(thread_id), {"blob": LARGE})
    except ClientError as error:
        raise NotOffered("values over 400 KB") from error


def chain(saver: Saver, at: RunnableConfig, steps: int, **metadata: Any) -> list[RunnableConfig]:
    """Checkpoints, each the parent of the next; their configs, the oldest first."""
    found = []
    for step in range(steps):
        at = put(saver, at, {"n": step}, step=step, **metadata)
        found.append(at)
    return found


def write(saver: Saver, at: RunnableConfig, writes: Writes, task_id: str = "task", path: str = "") -> None:
    """LangGraph leaves the path out where the saver does not take it; the order of parallel tasks is then not kept."""
    if not path:
        saver.put_writes(at, writes, task_id)
    elif "task_path" in inspect.signature(saver.put_writes).parameters:
        saver.put_writes(at, writes, task_id, path)
    else:
        raise NotOffered("put_writes without task_path")


def latest(saver: Saver, at: RunnableConfig | str) -> CheckpointTuple:
    found = saver.get_tuple(config(at) if isinstance(at, str) else at)
    assert found is not None, f"nothing at {at}"
    return found


def values(saver: Saver, at: RunnableConfig | str) -> dict[str, Any]:
    return latest(saver, at).checkpoint["channel_values"]


def pending(saver: Saver, at: RunnableConfig | str) -> list[tuple[str, str, Any]]:
    return latest(saver, at).pending_writes or []


def steps(found: Iterator[CheckpointTuple]) -> list[int]:
    return [one.metadata["step"] for one in found]


@contextmanager
def later(seconds: float) -> Iterator[None]:
    """The clock of this process is ahead."""
    real = time.time
    with mock.patch("time.time", new=lambda: real() + seconds):  # noqa: PT008  (it moves on)
        yield
