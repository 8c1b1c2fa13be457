"""What the workers say, on our stderr: each line with who said it; only warnings and worse unless verbose."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable

_LOUD = {"WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"}
TAIL = 20
"""How many unshown lines are kept to be shown when a worker dies."""


class Console:
    """Our own stderr. `say` is for the person at the terminal, `voice` makes one child's output."""

    def __init__(self, *, verbose: bool = False, write: Callable[[str], object] | None = None) -> None:
        self.verbose = verbose
        self._write = write or _to_stderr

    def say(self, text: str) -> None:
        self._write(text)

    def voice(self, label: str) -> Voice:
        return Voice(self, label)


class Voice:
    """One child's lines. The label may change: a spare gets its agent's name when it gets an agent."""

    def __init__(self, console: Console, label: str) -> None:
        self.label = label
        self._console = console
        self._unshown: deque[str] = deque(maxlen=TAIL)

    def __call__(self, stream: str, line: str) -> None:
        if self._console.verbose or is_loud(stream, line):
            self._console.say(f"[{self.label}] {line}")
        else:
            self._unshown.append(line)

    def died(self, how: str) -> None:
        """The child ended although nobody asked it to: says so, with the last it had to say."""
        self._console.say(f"[{self.label}] {how}")
        while self._unshown:
            self._console.say(f"[{self.label}] | {self._unshown.popleft()}")


def is_loud(stream: str, line: str) -> bool:
    """JSON log lines by their level; otherwise what is on stderr (tracebacks, warnings) and not what is on stdout (prints, metrics)."""
    try:
        level = json.loads(line).get("level", "")
    except (ValueError, AttributeError):
        return stream == "stderr" and bool(line.strip())
    return str(level).upper() in _LOUD


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
