"""The child's side of `infra.local.process`: one line in on stdin, then end of file means that the parent is gone.

A pipe and not `PR_SET_PDEATHSIG`: the pipe works on every system, also when the parent is killed with SIGKILL, and takes the
whole group along; the signal would kill this process before its own children.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading


class Leash:
    """Reads stdin in a thread of its own. `line()` waits for the first line; end of file kills this process and its group."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        # a descriptor of our own, and nothing on 0: neither the app nor its children may read from (or hold) the leash
        self._fd = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._watching = threading.Thread(target=self._watch, name="leash", daemon=True)
        self._watching.start()

    def line(self) -> str:
        """The first line the parent writes, without its end. Blocks."""
        return self._lines.get()

    def linger(self, seconds: float) -> None:
        """Before an end of our own: when the parent is killed, everything that came from it breaks at once, and the end of file, which
        takes the group along, may be noticed last."""
        self._watching.join(seconds)

    def _watch(self) -> None:
        with os.fdopen(self._fd, encoding="utf-8") as stdin:
            for line in stdin:
                self._lines.put(line.rstrip("\n"))
        kill_own_group()


def kill_own_group() -> None:
    """Ends this process and every process of its group, at once."""
    if sys.platform == "win32":
        os._exit(1)
    # only a group of our own: a child run by hand in a terminal shares its group with the shell
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
