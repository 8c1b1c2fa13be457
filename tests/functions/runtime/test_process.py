"""`python -m functions.runtime` as Lambda starts it: a process of its own, an app named by `_HANDLER`, signals, exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from infra.local.runtime_api import RuntimeApi
from tests.support.events import url_event
from tests.support.plain_app import GAP
from tests.support.runtime import ask

REPO = Path(__file__).parents[3]
BOOTSTRAP = REPO / "functions" / "runtime" / "bootstrap"
APP = "tests.support.plain_app.app"


def started(*command: str, **env: str) -> AbstractAsyncContextManager[tuple[RuntimeApi, Process]]:
    """A runtime process and its Runtime API; the process is killed at the end if it still runs."""
    return started_with(RuntimeApi(), *command, **env)


@asynccontextmanager
async def started_with(api: RuntimeApi, *command: str, **env: str) -> AsyncIterator[tuple[RuntimeApi, Process]]:
    await api.start()
    process = await asyncio.create_subprocess_exec(
        *(command or (sys.executable, "-m", "functions.runtime")),
        cwd=REPO,
        env={**os.environ, "AWS_LAMBDA_RUNTIME_API": api.address, "_HANDLER": APP, **env},
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield api, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
        await api.close()


async def ended(process: Process) -> tuple[int | None, str, str]:
    """Exit code, stdout, stderr of a process that is about to end."""
    out, err = await asyncio.wait_for(process.communicate(), 20)
    return process.returncode, out.decode(), err.decode()


async def test_serves_and_streams() -> None:
    """Two invocations by one process; chunks cross the process boundary as they are made."""
    async with started() as (api, process):
        pid = json.loads((await ask(api, url_event("/pid"))).body)["pid"]
        reply = await ask(api, url_event("/spread"))
    assert pid == process.pid
    gaps = [b - a for a, b in zip(reply.times, reply.times[1:], strict=False)]
    assert min(gaps) >= 0.75 * GAP


async def test_sigterm_shuts_down() -> None:
    """SIGTERM while it waits: lifespan shutdown, exit 0, nothing on stderr."""
    async with started() as (api, process):
        await asyncio.wait_for(api.waiting.wait(), 20)
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == (0, "lifespan shutdown\n", "")


@pytest.mark.parametrize(
    ("env", "error_type", "message"),
    [
        ({"_HANDLER": "no.such.app"}, "Runtime.ImportModuleError", "No module named 'no'"),
        ({"_HANDLER": "tests.support.plain_app.nothing_here"}, "Runtime.HandlerNotFound", "nothing_here"),
        ({"_HANDLER": "tests.support.plain_app.NOT_CALLABLE"}, "Runtime.HandlerNotFound", "NOT_CALLABLE"),
        ({"_HANDLER": "app"}, "Runtime.MalformedHandlerName", "module.attribute"),
        ({"LIFESPAN_FAILS": "1"}, "Runtime.LifespanFailure", "no start today"),
    ],
)
async def test_init_errors(env: dict[str, str], error_type: str, message: str) -> None:
    """An app that cannot be loaded or started is reported to `init/error`, and the process exits with 1."""
    async with started(**env) as (api, process):
        code, _, _ = await ended(process)
        error = await asyncio.wait_for(api.init_error, 5)
    assert (code, error.error_type) == (1, error_type)
    assert message in error.message


async def test_a_lost_runtime_api_ends_the_process() -> None:
    """When the Runtime API goes away the process ends with 1 and says so: the pool, or Lambda, starts another."""
    async with started() as (api, process):
        await asyncio.wait_for(api.waiting.wait(), 20)
        await api.close()
        code, out, err = await ended(process)
    assert (code, out) == (1, "lifespan shutdown\n")
    assert "the Runtime API cannot be used any more" in err


async def test_a_wrapped_handler() -> None:
    """A wrapper that puts its own handler into `_HANDLER` keeps ours in `ORIG_HANDLER`; that is the app."""
    async with started(_HANDLER="otel_wrapper.lambda_handler", ORIG_HANDLER=APP) as (api, _):
        assert (await ask(api, url_event("/items/"))).prelude.status == 200


def test_bootstrap_is_executable() -> None:
    """A wrapper script that is not executable makes Lambda exit with 126."""
    assert stat.S_IMODE(BOOTSTRAP.stat().st_mode) & 0o111 == 0o111


async def test_bootstrap_serves() -> None:
    """Started as Lambda starts its wrapper, with the interpreter as `$1`, the script serves the app, here a FastAPI one."""
    env = {"LAMBDA_TASK_ROOT": str(REPO), "_HANDLER": "tests.support.streaming_app.app"}
    async with started(str(BOOTSTRAP), sys.executable, "/var/runtime/bootstrap.py", **env) as (api, process):
        pid = json.loads((await ask(api, url_event("/pid"))).body)["pid"]
    assert pid == process.pid


def fake_interpreter(folder: Path, name: str) -> Path:
    """An executable that prints its name, its arguments and PYTHONPATH."""
    script = folder / name
    script.write_text('#!/bin/sh\necho "${0##*/} $*"\necho "$PYTHONPATH"\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("before", "path"),
    [
        (None, "/t:/opt/python/lib/python3.13/site-packages:/opt/python:/r"),
        ("/mine", "/t:/opt/python/lib/python3.13/site-packages:/opt/python:/mine:/r"),
    ],
)
async def test_bootstrap_path(tmp_path: Path, before: str | None, path: str) -> None:
    """The path is the stock runtime's: the task, layers, the user's own, Lambda's."""
    env = {"LAMBDA_TASK_ROOT": "/t", "LAMBDA_RUNTIME_DIR": "/r", **({"PYTHONPATH": before} if before else {})}
    assert await _output(BOOTSTRAP, fake_interpreter(tmp_path, "python3.13"), env) == f"python3.13 -m functions.runtime\n{path}\n"


async def test_bootstrap_chains_opentelemetry(tmp_path: Path) -> None:
    """Lambda knows one wrapper; an OpenTelemetry layer's is run by ours, with the interpreter and our module as arguments."""
    otel = fake_interpreter(tmp_path, "otel-instrument")
    copy = tmp_path / "bootstrap"
    copy.write_text(BOOTSTRAP.read_text().replace("/opt/otel-instrument", str(otel)))
    copy.chmod(0o755)
    output = await _output(copy, tmp_path / "python3.13", {})
    assert output.startswith(f"otel-instrument {tmp_path}/python3.13 -m functions.runtime\n")


async def _output(script: Path, interpreter: Path, env: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        script, interpreter, "/var/runtime/bootstrap.py", env={"PATH": "/usr/bin:/bin", **env}, stdout=PIPE
    )
    out, _ = await process.communicate()
    return out.decode()
