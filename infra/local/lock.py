"""One process per data folder: a lock that the operating system drops when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import IO


class FolderInUse(Exception):
    """Another process holds the folder."""


def lock_folder(folder: Path, *, patience: float = 2.0) -> IO[str]:
    """The locked file; keep it open as long as the folder is yours. Waits `patience` seconds for a predecessor that is ending.

    Raises `FolderInUse` naming the holder's pid.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / "lock").open("a+", encoding="utf-8")
    deadline = time.monotonic() + patience
    while not _try_lock(file):
        if time.monotonic() > deadline:
            file.close()
            raise FolderInUse(f"{folder} is in use by process {_holder(file)}")
        time.sleep(0.05)
    (folder / "pid").write_text(str(os.getpid()), encoding="utf-8")
    return file


def _holder(file: IO[str]) -> str:
    # beside the lock: on Windows a locked file cannot be read
    pid = Path(file.name).with_name("pid")
    return pid.read_text(encoding="utf-8") if pid.exists() else "unknown"


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
