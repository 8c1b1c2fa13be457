"""What a child process is started with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from infra.local.process import ROOT, Process

from .conftest import is_running, waited


async def test_nothing_is_imported_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file there that is named like a module of the library does not take its place."""
    (tmp_path / "platform.py").write_text("print('the working folder')")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    process = await Process.start("platform", env=dict(os.environ), output=lambda _stream, line: said.append(line))
    await process.exited.wait()
    await process.stop()
    assert process.returncode == 0
    assert "the working folder" not in said


def test_what_a_worker_started_goes_with_its_parent() -> None:
    """Also when the worker's own work ends first, because its parent is gone: it lingers until it knows."""
    worker = """if True:
        import subprocess, sys
        from infra.local.leash import Leash
        leash = Leash()
        print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL).pid, flush=True)
        leash.linger(30)
    """
    with subprocess.Popen([sys.executable, "-c", worker], stdin=PIPE, stdout=PIPE, cwd=ROOT, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert is_running(child)
        process.stdin.close()
        assert process.wait(20) == -signal.SIGKILL
    assert waited(lambda: not is_running(child))
