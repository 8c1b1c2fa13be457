"""Checkpoints made by hand, as LangGraph makes them."""

from __future__ import annotations

import random
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, empty_checkpoint


def config(thread_id: object, namespace: str | None = "", checkpoint_id: str | None = None, **configurable: Any) -> RunnableConfig:
    ids = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id} | configurable
    return {"configurable": {name: value for name, value in ids.items() if value is not None}}


def checkpoint(values: dict[str, Any] | None = None, checkpoint_id: str | None = None) -> Checkpoint:
    made = empty_checkpoint()
    made["channel_values"] = values or {}
    made["channel_versions"] = dict.fromkeys(made["channel_values"], 1)
    made["id"] = checkpoint_id or made["id"]
    return made


def put(saver: BaseCheckpointSaver[Any], at: RunnableConfig, values: dict[str, Any] | None = None, **metadata: Any) -> RunnableConfig:
    """Stores a checkpoint under `at` (whose id is the parent's); returns its config."""
    made = checkpoint(values)
    return saver.put(at, made, {"source": "loop", "step": 0, **metadata}, made["channel_versions"])  # type: ignore[typeddict-item]


def noise(size: int, seed: int = 0) -> bytes:
    """Bytes that do not compress, the same for the same arguments."""
    return random.Random(seed + size).randbytes(size)
