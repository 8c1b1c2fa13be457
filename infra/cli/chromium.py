"""A Chromium for the tests of the page: one that is there, or Debian's own where we may install it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "msedge", "microsoft-edge")
PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
UNAVAILABLE = """NOT RUN: the tests that drive the page in a browser (marker `browser`): no Chromium was found.
To run them install Chromium or Chrome (Debian, Ubuntu: apt-get install chromium; macOS: brew install --cask chromium), then: agents test"""


def find_chromium(environ: Mapping[str, str] = os.environ) -> str | None:
    """Path of a Chromium or a browser built on it."""
    for command in COMMANDS:
        if found := shutil.which(command, path=environ.get("PATH", "")):
            return found
    return next((place for place in PLACES if Path(place).exists()), None)


def ensure_chromium() -> bool:
    """Whether there is one; installs Debian's if we are root there."""
    if find_chromium():
        return True
    if not may_install():
        return False
    print("Installing Chromium for the tests of the page …", file=sys.stderr, flush=True)
    return install(_run) and find_chromium() is not None


def may_install() -> bool:
    """Root on a system with apt: a container or a CI machine, as a rule."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(run: Callable[[list[str]], bool]) -> bool:
    return run(["apt-get", "update", "-q"]) and run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"])


def _run(command: list[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode == 0
