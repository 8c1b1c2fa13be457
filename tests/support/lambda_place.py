"""Where Lambda runs a bundle, as far as a machine without it can be made that: /var/task, variables, what may be written.

On Linux the process has mounts of its own: the bundle read-only as /var/task, the whole file system read-only around it, a scratch folder
as /tmp. Elsewhere it runs in the bundle's own folder, and only a comparison of the folder before and after shows that it wrote nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from infra.bundle import BOOTSTRAP, TASK_ROOT
from infra.local.runtime_api import RuntimeApi

_CONFINE = """
set -e
mount -t tmpfs none /var
mkdir /var/task
mount --bind "$1" /var/task
mount -o remount,ro,bind /var/task
mount -o remount,ro /var
mount --bind "$2" /tmp
mount -o remount,ro,bind /
shift 2
cd /var/task
exec "$@"
"""
STOCK_BOOTSTRAP = "/var/runtime/bootstrap.py"
"""What Lambda would run: its wrapper gets it as the second argument, and ours drops it."""
PATH = "/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/opt/bin"
REGION = "us-east-1"


def variables(task_root: str, api: str, config: Mapping[str, str] = {}, *, snap_start: bool = False) -> dict[str, str]:
    """The environment of a function: what Lambda reserves and sets, `config` (the function's own), and nothing else: no HOME, no USER.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
    """
    streams = {"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/agent", "AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/30/[$LATEST]0123456789abcdef"}
    return {
        "_HANDLER": "functions.entry.app",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_EXEC_WRAPPER": f"{task_root}/{BOOTSTRAP.as_posix()}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "AWS_LAMBDA_FUNCTION_NAME": "agent",
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start" if snap_start else "on-demand",
        "AWS_LAMBDA_RUNTIME_API": api,
        "AWS_REGION": REGION,
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_SESSION_TOKEN": "test",
        "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
        "AWS_XRAY_DAEMON_ADDRESS": "169.254.79.129:2000",
        "LAMBDA_RUNTIME_DIR": "/var/runtime",
        "LAMBDA_TASK_ROOT": task_root,
        "LANG": "en_US.UTF-8",
        "LD_LIBRARY_PATH": f"/var/lang/lib:/lib64:/usr/lib64:/var/runtime:/var/runtime/lib:{task_root}:{task_root}/lib:/opt/lib",
        "PATH": PATH,
        "PYTHONPATH": "/var/runtime",
        "TZ": ":UTC",
        # under SnapStart a function has no log stream yet
        **({} if snap_start else streams),
        **config,
    }


def function_config(agent: str, endpoint: str) -> dict[str, str]:
    """What the stack gives the agent's function (`infra.agent_function`), and where AWS is here."""
    own = {"NAME": agent, "MODEL": "offline", "SAMPLE_KNOWLEDGE": "true", "TABLE_PREFIX": "agents-", "AUTH": "iam", "LOG_LEVEL": "INFO"}
    quick = {"OFFLINE_DELAY_MS": "1"}
    return {f"AGENTS_{name}": value for name, value in (own | quick).items()} | {"AWS_ENDPOINT_URL": endpoint}


@cache
def confines() -> Sequence[str]:
    """The words that give a process mounts of its own; none where the machine allows nobody to (macOS, some containers)."""
    if sys.platform != "linux" or (unshare := shutil.which("unshare")) is None:
        return ()
    ways = ([unshare, "-m"], [unshare, "-rm"])
    probe = ["sh", "-c", "mount -t tmpfs none /var"]
    return next((way for way in ways if subprocess.run([*way, *probe], capture_output=True).returncode == 0), ())


@dataclass(frozen=True, slots=True)
class Place:
    """A bundle where it can be started by `python`. `confined`: by words that give the process mounts of its own, with `scratch` as its
    /tmp; without them it runs in the bundle's folder."""

    bundle: Path
    scratch: Path
    python: str
    confined: Sequence[str] = field(default_factory=lambda: confines())

    @property
    def root(self) -> str:
        """The task root as the process sees it."""
        return TASK_ROOT if self.confined else str(self.bundle)

    def command(self) -> list[str]:
        """As Lambda does: the wrapper, with the interpreter and what it would have run."""
        program = [f"{self.root}/{BOOTSTRAP.as_posix()}", self.python, STOCK_BOOTSTRAP]
        folders = [str(self.bundle), str(self.scratch)]
        return [*self.confined, *(["sh", "-c", _CONFINE, "sh", *folders] if self.confined else []), *program]


@dataclass(slots=True)
class Started:
    """A running function. `log` is what it has written to its standard streams so far."""

    api: RuntimeApi
    process: asyncio.subprocess.Process
    logged: Path
    _ended: asyncio.Task[int] = field(repr=False)

    @property
    def log(self) -> str:
        return self.logged.read_text(encoding="utf-8")

    async def ended(self) -> int:
        """The exit code of a process that is about to end."""
        return await asyncio.wait_for(asyncio.shield(self._ended), 60)


@asynccontextmanager
async def started(place: Place, config: Mapping[str, str], *, snap_start: bool = False) -> AsyncIterator[Started]:
    """Starts the function in `place`; a process that ends fails what waits for it, as an environment that is lost does."""
    api = RuntimeApi()
    await api.start()
    logged = place.scratch.parent / f"{place.scratch.name}.log"
    environment = variables(place.root, api.address, config, snap_start=snap_start)
    with logged.open("wb") as log:
        process = await asyncio.create_subprocess_exec(*place.command(), cwd=place.bundle, env=environment, stdout=log, stderr=log)
    ended = asyncio.create_task(_close_with(process, api))
    try:
        yield Started(api, process, logged, ended)
    finally:
        if process.returncode is None:
            process.kill()
        await ended


async def _close_with(process: asyncio.subprocess.Process, api: RuntimeApi) -> int:
    code = await process.wait()
    await api.close()
    return code


def signed_event(path: str = "/", method: str = "POST", body: str | None = None, user: str = "ann") -> dict[str, Any]:
    """A function URL's event of a caller whom IAM knows."""
    from tests.support.events import url_event

    event = url_event(path, method, body)
    event["requestContext"]["authorizer"] = {"iam": {"userArn": f"arn:aws:iam::123456789012:user/{user}"}}
    return event


def digest(root: Path) -> str:
    """Of names, modes and bytes below `root`: the same as long as nobody wrote there."""
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        whole.update(f"\0{path.relative_to(root).as_posix()}\0{path.lstat().st_mode}\0".encode())
        if path.is_file():
            whole.update(path.read_bytes())
    return whole.hexdigest()


def environment_of(pid: int) -> dict[str, str]:
    """The variables that a running process (of Linux) was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().rstrip(b"\0").split(b"\0")
    return dict(pair.decode().split("=", 1) for pair in pairs)
