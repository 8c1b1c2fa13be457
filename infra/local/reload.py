"""A change in `graphs/` or `functions/` recycles the workers that hold the old code. Threads stay: they are in the store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from infra.local.process import ROOT

PAGE = ROOT / "functions" / "web" / "page"
SOURCES = (".json", ".jsonl", ".md", ".py", ".toml", ".txt", ".yaml", ".yml")
"""Code, prompts and bundled documents; not what editors leave behind for a moment."""


def folders(modules: Mapping[str, str], root: Path = ROOT) -> dict[str, Path]:
    """Agent → the folder of its graph, from `AgentSpec.module` ("graphs.dev.graph:build")."""
    return {agent: root.joinpath(*module.partition(":")[0].split(".")).parent for agent, module in modules.items()}


def affected(changed: Iterable[Path], agents: Mapping[str, Path]) -> set[str]:
    """Whose code the files are: one agent's own folder is that agent's, anything else is everybody's; the page is nobody's."""
    names: set[str] = set()
    for path in changed:
        if path.is_relative_to(PAGE) or path.suffix not in SOURCES:
            continue
        owners = {name for name, folder in agents.items() if path.is_relative_to(folder)}
        names |= owners or set(agents)
    return names


def code_version(agent: str, agents: Mapping[str, Path], root: Path = ROOT) -> str:
    """Of the code that a worker of the agent imports now: another one after each change that recycles it. 16 hex digits."""
    files = sorted(path for top in ("graphs", "functions") for path in (root / top).rglob("*") if agent in affected([path], agents))
    stamps = ((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in ((path, path.stat()) for path in files))
    return hashlib.sha256(repr(list(stamps)).encode()).hexdigest()[:16]


async def changes(watched: Sequence[Path]) -> AsyncIterator[set[Path]]:
    """The files that changed, a set a burst, until cancelled."""
    from watchfiles import awatch

    async for burst in awatch(*watched, step=50, debounce=400):
        yield {Path(path) for _change, path in burst}
