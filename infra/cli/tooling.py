"""Running another program inside the project's environment, with the dependency groups it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class NoUv(Exception):
    """uv is needed to install a dependency group and is nowhere."""


def find_uv(environ: Mapping[str, str] = os.environ) -> str:
    """The uv that started us (`UV`), one on PATH, or one beside this interpreter. Raises `NoUv`."""
    beside = Path(sys.executable).with_name("uv.exe" if sys.platform == "win32" else "uv")
    for candidate in (environ.get("UV"), shutil.which("uv", path=environ.get("PATH", "")), str(beside)):
        if candidate and Path(candidate).is_file():
            return candidate
    raise NoUv("This needs uv, to install what it runs. Get it with: python -m pip install uv")


def run_with(groups: Sequence[str], command: Sequence[str]) -> int:
    """Runs `command` from the project's root with these dependency groups installed → its exit code. Raises `NoUv`."""
    options = [word for group in groups for word in ("--group", group)]
    # frozen: what runs is what the lock file says
    arguments = [find_uv(), "run", "--frozen", "--project", str(ROOT), *options, *command]
    return subprocess.run(arguments, cwd=ROOT, check=False).returncode
