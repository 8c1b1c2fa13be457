"""One process per data folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.local.lock import FolderInUse, lock_folder


def test_a_locked_folder_is_refused_by_name(tmp_path: Path) -> None:
    """The second one is told which folder and which process; when the first ends it is free."""
    with lock_folder(tmp_path / "data"), pytest.raises(FolderInUse, match=f"data is in use by process {os.getpid()}"):
        lock_folder(tmp_path / "data", patience=0)
    lock_folder(tmp_path / "data", patience=0).close()
