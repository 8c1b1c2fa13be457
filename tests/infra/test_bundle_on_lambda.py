"""The bundles as Lambda runs them (`tests.support.lambda_place`): Lambda's Python, wrapper, variables and folders, against moto."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from functions.runtime.cycle import SEPARATOR
from functions.store.clients import dynamodb_client
from functions.store.tables import create_tables
from infra.bundle import BOOTSTRAP
from infra.deployment import DEPLOYABLE
from tests.support import rie
from tests.support.bundles import bundle_here, lambda_python
from tests.support.lambda_place import Place, Started, digest, environment_of, function_config, signed_event, started, variables
from tests.support.moto_server import moto_server
from tests.support.runtime import ask
from tests.support.sse import read_sse

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """moto with the tables of the stack."""
    with moto_server() as address:
        create_tables(dynamodb_client(address, "us-east-1"), "agents-")
        yield address


def place(agent: str, tmp_path: Path) -> Place:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return Place(bundle_here(agent), scratch, lambda_python())


def run_event(thread: str, *, text: str | None = None, resume: Sequence[Json] = (), run: str = "r1") -> Json:
    messages = [{"id": "u1", "role": "user", "content": text}] if text else []
    rest: Json = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    body = {"threadId": thread, "runId": run, "messages": messages, **rest}
    return signed_event(body=json.dumps(body | ({"resume": list(resume)} if resume else {})))


async def run(function: Started, event: Json) -> list[Json]:
    """One run → its events; the answer has to be a stream without trailers, which a failure in it would leave."""
    reply = await ask(function.api, event)
    assert (reply.prelude.status, reply.prelude.headers["content-type"], reply.trailers) == (200, "text/event-stream", {})
    return read_sse(reply.body)


def types(events: Sequence[Json]) -> list[str]:
    return [event["type"] for event in events]


@pytest.mark.parametrize("agent", DEPLOYABLE)
async def test_every_agent_runs_as_on_lambda(agent: str, endpoint: str, tmp_path: Path) -> None:
    """Init and one run with the offline model: a stream from RUN_STARTED to its end, nothing written but in /tmp, no warning in the log.

    Where the machine lets a process have its own mounts, the bundle is /var/task and the file system around it is read-only."""
    where = place(agent, tmp_path)
    before = digest(where.bundle)
    async with started(where, function_config(agent, endpoint)) as function:
        events = await run(function, run_event(agent, text="start demo" if agent == "dev" else "年假有几天？"))
        info = await ask(function.api, signed_event("/info", "GET"))
        log = function.log
    assert (types(events)[0], types(events)[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert json.loads(info.body)["name"] == agent
    assert digest(where.bundle) == before
    said = [json.loads(line) for line in log.splitlines()]
    assert [line for line in said if "_aws" not in line and line["level"] != "INFO"] == []


async def test_a_question_is_answered_in_another_process(endpoint: str, tmp_path: Path) -> None:
    """The first process streams a run up to its interrupt and is gone; a second one takes the thread from DynamoDB and goes on."""
    where, config = place("dev", tmp_path), function_config("dev", endpoint)
    async with started(where, config) as first:
        asked = await run(first, run_event("two", text="start demo", run="asks"))
    async with started(where, config) as second:
        (interrupt,) = asked[-1]["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"value": "hitlDemo"}}
        answered = await run(second, run_event("two", resume=[answer], run="answers"))
    assert first.process.pid != second.process.pid
    assert (types(answered)[0], types(answered)[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    (next_question,) = answered[-1]["outcome"]["interrupts"]
    assert next_question["id"] != interrupt["id"]


async def test_the_environment_is_lambdas(endpoint: str, tmp_path: Path) -> None:
    """The process has what Lambda sets and what the function is configured with. No HOME; the path is what the wrapper makes of it."""
    where, config = place("dev", tmp_path), function_config("dev", endpoint)
    async with started(where, config) as function:
        await ask(function.api, signed_event("/health", "GET"))
        if not where.confined:  # only Linux shows a process's variables
            return
        found = environment_of(function.process.pid)
        wanted = variables(where.root, function.api.address, config)
    path = f"{where.root}:/opt/python/lib/{Path(where.python).name}/site-packages:/opt/python:/var/runtime:/var/runtime"
    shell = {name: found[name] for name in ("PWD", "SHLVL", "_", "OLDPWD") if name in found}  # the wrapper is a shell script
    assert found == wanted | shell | {"PYTHONPATH": path}
    assert not {"HOME", "USER"} & found.keys()


async def test_errors_as_on_lambda(endpoint: str, tmp_path: Path) -> None:
    """An event that is none and a wrong body are answered, with no stop; the run after them works."""
    async with started(place("dev", tmp_path), function_config("dev", endpoint)) as function:
        refused = function.api.invoke({"Records": []})
        with pytest.raises(Exception, match=r"Runtime\.UnsupportedEvent"):
            await refused.prelude()
        assert (await ask(function.api, signed_event(body="{"))).prelude.status == 400
        assert types(await run(function, run_event("after", text="start demo")))[-1] == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"AGENTS_NAME": "nobody"}, "UnknownAgent"), ({"AGENTS_TTL_DAYS": "soon"}, "ValidationError"), ({"_HANDLER": "no.such.app"}, "no")],
)
async def test_an_init_error_is_reported(wrong: Json, error: str, endpoint: str, tmp_path: Path) -> None:
    """A wrong setting ends the process with 1, after `init/error` has said what is wrong; the reason is in the log."""
    async with started(place("dev", tmp_path), function_config("dev", endpoint) | wrong) as function:
        failure = await function.api.init_error
        assert await function.ended() == 1
    assert error in f"{failure.error_type} {failure.message}"
    assert "the app cannot be loaded" in function.log


# -- AWS's own Runtime Interface Emulator


def emulated(where: Place) -> tuple[Path, dict[str, str]]:
    """The bundle's wrapper as the one executable that the emulator takes, and the folder it stands in."""
    script = where.scratch.parent / "bootstrap"
    words = " ".join(f"'{word}'" for word in (str(where.bundle / BOOTSTRAP), where.python))
    script.write_text(f"#!/bin/sh\ncd '{where.bundle}' && exec {words} /var/runtime/bootstrap.py\n", encoding="utf-8")
    script.chmod(0o755)
    return script, {"LAMBDA_TASK_ROOT": str(where.bundle)}


async def posted(emulator: rie.Rie, event: Json) -> tuple[int, Json, bytes]:
    """Status of the invoke, prelude and body: the emulator gives back the post as it was."""
    status, answer = await emulator.invoke(json.dumps(event).encode())
    prelude, separator, body = answer.partition(SEPARATOR)
    assert separator == SEPARATOR, answer
    return status, json.loads(prelude), body


@pytest.mark.skipif(not rie.AVAILABLE, reason="AWS's emulator is a Linux binary")
async def test_awss_emulator_accepts_the_bundle(endpoint: str, tmp_path: Path) -> None:
    """Init, a run, an error, and a run again in the same environment: nothing of it is refused, cut off or restarted."""
    script, variables = emulated(place("dev", tmp_path))
    async with rie.emulator(script, tmp_path, function_config("dev", endpoint) | variables) as emulator:
        for number in (1, 2):
            status, prelude, body = await posted(emulator, run_event(f"rie{number}", text="start demo"))
            assert (status, prelude["statusCode"], types(read_sse(body))[-1]) == (200, 200, "RUN_FINISHED")
            _, error = await emulator.invoke(b"[]")
            assert json.loads(error)["errorType"] == "Runtime.UnsupportedEvent"
        log = emulator.log
    assert (log.count("INIT RTDONE"), log.count("INVOKE RTDONE(status: success")) == (1, 4)
    assert not [word for word in ("PANIC", "truncated", "InvalidStateTransition", "Runtime exited") if word in log]


@pytest.mark.skipif(not rie.AVAILABLE, reason="AWS's emulator is a Linux binary")
async def test_awss_emulator_is_told_of_an_init_error(endpoint: str, tmp_path: Path) -> None:
    """`init/error` of the bundle is what the caller of the first invocation gets."""
    script, variables = emulated(place("dev", tmp_path))
    async with rie.emulator(script, tmp_path, function_config("dev", endpoint) | variables | {"AGENTS_NAME": "nobody"}) as emulator:
        _, error = await emulator.invoke(b"{}")
    assert "UnknownAgent" in json.loads(error)["errorType"] + json.loads(error)["errorMessage"]
