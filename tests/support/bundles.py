"""Bundles of this machine: Lambda's lock and recipe with this machine's wheels, kept in `.cache/bundles` until an input changes."""

from __future__ import annotations

import platform
from pathlib import Path

from infra.bundle import LAMBDA, Target, build
from infra.deployment import ROOT
from infra.toolchain import interpreter

FOLDER = ROOT / ".cache" / "bundles"
PLATFORMS = {
    ("Linux", "x86_64"): "x86_64-manylinux_2_28",
    ("Linux", "aarch64"): "aarch64-manylinux_2_28",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Windows", "AMD64"): "x86_64-pc-windows-msvc",
}


class NoInterpreter(RuntimeError):
    """Lambda's version of Python is not on this machine."""


def lambda_python() -> str:
    """An interpreter of Lambda's version, without packages. Raises `NoInterpreter` with the command that brings it."""
    python = interpreter(LAMBDA.python)
    if python is None:
        raise NoInterpreter(f"no Python {LAMBDA.python} here; `uv python install {LAMBDA.python}` brings it")
    return python


def here() -> Target:
    """This machine with Lambda's version of Python."""
    return Target(PLATFORMS[platform.system(), platform.machine()], LAMBDA.python)


def bundle_here(agent: str) -> Path:
    """The bundle of `agent` that runs on this machine."""
    lambda_python()
    folder = FOLDER / agent
    build(agent, folder, target=here())
    return folder
