"""What a child process is started with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.local.process import Process


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
