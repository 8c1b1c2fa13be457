"""A function under SnapStart whose process is cloned. It stands where `python -m functions.runtime` would, in a bundle.

At `restore/next` it stands still, as a snapshot does, and forks once for each line of stdin (`{"address"}`: the Runtime API that restores
the clone); the clone goes on in the shipped code. It is libc's `fork`, not Python's, whose hooks would seed `random` anew: the memory of
every clone is the snapshot's. What a fork does not show: it would lose threads (there are none, says the first line of stdout); it shares
what the kernel keeps instead of copying it (so one clone lives at a time, and the loop polls without such a thing); clocks do not jump.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import json
import os
import random
import secrets
import selectors
import socket
import sys
import uuid
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from functions.runtime import snapstart
from functions.runtime.__main__ import loaded
from functions.runtime.client import RuntimeClient
from functions.runtime.loop import Environment

_libc = ctypes.PyDLL(None)  # keeps the GIL: the clone's only thread has it


class Registry(ModuleType):
    """`snapshot_restore_py`, which Lambda's Python brings."""

    def __init__(self) -> None:
        super().__init__("snapshot_restore_py")
        self.__spec__ = ModuleSpec(self.__name__, None)
        self._before: list[snapstart.Hook] = []
        self._after: list[snapstart.Hook] = []

    def register_before_snapshot(self, call: Any, *args: Any, **kwargs: Any) -> None:
        self._before.append((call, args, kwargs))

    def register_after_restore(self, call: Any, *args: Any, **kwargs: Any) -> None:
        self._after.append((call, args, kwargs))

    def get_before_snapshot(self) -> list[snapstart.Hook]:
        return self._before

    def get_after_restore(self) -> list[snapstart.Hook]:
        return self._after


class Frozen(RuntimeClient):
    """Its `restore_next` returns in every clone, with the clone's own Runtime API."""

    async def restore_next(self) -> None:
        drawn()  # each generator has been used, as by a process that was primed
        _say({"threads": len(os.listdir("/proc/self/task")), "sockets": _internet_sockets(), "memory_mb": _memory_mb()})
        for line in sys.stdin:
            pid = int(_libc.fork())
            if pid == 0:
                self._address = json.loads(line)["address"]
                await super().restore_next()
                return
            _say({"pid": pid})
            usage = os.wait4(pid, 0)[2]  # noqa: ASYNC222 - the loop is to stand still with the rest of the snapshot
            _say({"cpu_ms": round((usage.ru_utime + usage.ru_stime) * 1000, 1)})
        raise SystemExit(0)


def drawn() -> dict[str, Any]:
    """A draw of everything that has to differ between clones, and what this process has open."""
    uuid_utils: Any = importlib.import_module("uuid_utils")
    langgraph: Any = importlib.import_module("langgraph.checkpoint.base.id")
    return {
        "random": random.random(),
        # its last two groups, which are drawn; the others are the time
        "checkpoint": str(langgraph.uuid6()).split("-", 3)[3],
        "uuid7": str(uuid_utils.uuid7())[15:],
        "uuid4": str(uuid.uuid4()),
        "secrets": secrets.token_hex(8),
        "sockets": _internet_sockets(),
        "demo_key": os.environ.get("DEMO_KEY"),
    }


def _internet_sockets() -> int:
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as copy:
                found += copy.family in (socket.AF_INET, socket.AF_INET6)
        except OSError:  # no socket, or closed since the folder was listed
            continue
    return found


def _memory_mb() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def with_draws(served: Any) -> Any:
    """The app, and `GET /drawn`."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/drawn":
            await served(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(drawn()).encode()})

    return app


def main() -> None:
    sys.modules["snapshot_restore_py"] = Registry()
    if "--shared" in sys.argv:
        snapstart.reseed = lambda: None  # the control: clones that nobody seeds anew
    environment = Environment(with_draws(loaded()), Frozen(""))
    # poll keeps what it waits for in the process's own memory; epoll would share it with the clones
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.PollSelector())) as runner:
        runner.run(environment.run())


if __name__ == "__main__":
    main()
