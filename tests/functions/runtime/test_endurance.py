"""A thousand invocations in one environment, every fifth of them a failure of some kind: each has its own answer, and nothing piles up."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from infra.local.invocation import Invocation
from infra.local.runtime_api import FunctionError, RuntimeApi, TruncatedResponse
from tests.functions.runtime.test_process import started_with
from tests.support.events import url_event
from tests.support.runtime import Reply, ask, collect

INVOCATIONS, WARM, SEED = 1_000, 200, 11
APP = "tests.support.streaming_app.app"

Try = Callable[[RuntimeApi, random.Random], Awaitable[None]]


async def whole(api: RuntimeApi, path: str, method: str = "GET", status: int = 200, **event: object) -> Reply:
    reply = await ask(api, {**url_event(path, method), **event})
    assert (reply.prelude.status, reply.trailers) == (status, {})
    return reply


async def json_answer(api: RuntimeApi, chance: random.Random) -> None:
    assert json.loads((await whole(api, "/items/")).body) == {"a": "b"}


async def things_of_the_loop(api: RuntimeApi, chance: random.Random) -> None:
    assert (await whole(api, "/lock")).body.isdigit()


async def binary(api: RuntimeApi, chance: random.Random) -> None:
    data = chance.randbytes(chance.randint(1, 300_000))
    body = base64.b64encode(data).decode()
    assert (await whole(api, "/echo", "POST", body=body, isBase64Encoded=True)).body == data


async def nothing(api: RuntimeApi, chance: random.Random) -> None:
    assert (await whole(api, "/nothing", status=204)).body == b""


async def background(api: RuntimeApi, chance: random.Random) -> None:
    assert (await whole(api, "/background")).body == b'"ok"'


async def fails_in_the_middle(api: RuntimeApi, chance: random.Random) -> None:
    """At some depth the report is larger than a trailer may be."""
    reply = await ask(api, {**url_event("/mid"), "rawQueryString": f"depth={chance.choice([0, 100, 400])}"})
    assert reply.body == b"data: 1\n\n"
    assert reply.trailers is not None
    assert reply.trailers["lambda-runtime-function-error-type"] == "Function.ValueError"
    assert sum(len(name) + len(value) for name, value in reply.trailers.items()) < 4_096


async def fails_before_the_first_byte(api: RuntimeApi, chance: random.Random) -> None:
    assert b"secret" not in (await whole(api, "/early", status=500)).body


async def no_base64(api: RuntimeApi, chance: random.Random) -> None:
    await whole(api, "/echo", "POST", status=400, body="!", isBase64Encoded=True)


async def no_http(api: RuntimeApi, chance: random.Random) -> None:
    with pytest.raises(FunctionError):
        await collect(api.invoke({"Records": [{"eventSource": "aws:sqs"}]}))


async def times_out(api: RuntimeApi, chance: random.Random) -> None:
    with pytest.raises((FunctionError, TruncatedResponse)):
        await collect(api.invoke(url_event("/spread"), timeout_ms=chance.choice([1, 20, 250])))


async def is_reset(api: RuntimeApi, chance: random.Random) -> None:
    assert isinstance(api, Resetting)
    api.after = chance.randint(1, 3)
    with pytest.raises((FunctionError, TruncatedResponse)):
        await collect(api.invoke(url_event("/spread")))
    api.after = None


class Resetting(RuntimeApi):
    """Resets the connection of a response after so many pieces; the prelude is one."""

    after: int | None = None

    async def received(self, invocation: Invocation, pieces: int) -> None:
        if self.after is not None and pieces >= self.after:
            self.after = None
            raise ConnectionResetError("injected")


TRIES: dict[Try, int] = {
    **dict.fromkeys((json_answer, things_of_the_loop, binary, nothing), 20),
    **dict.fromkeys((fails_in_the_middle, fails_before_the_first_byte, no_base64, no_http), 4),
    **dict.fromkeys((times_out, is_reset), 2),
    background: 1,
}
"""How often each comes, of 105."""


def held(pid: int) -> tuple[int, int, float]:
    """File descriptors, threads and MB of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(status["Threads"]), int(status["VmRSS"].split()[0]) / 1_024


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_thousand_invocations() -> None:
    """By one process, which then ends as it should at SIGTERM. After the first two hundred it opens and keeps no more than it had."""
    chance, done = random.Random(SEED), Counter[str]()
    async with started_with(Resetting(), _HANDLER=APP) as (api, process):
        assert process.stderr is not None
        assert process.stdout is not None
        log = asyncio.create_task(process.stderr.read())  # a full pipe would stop it
        before = (0, 0, 0.0)
        for number in range(INVOCATIONS):
            if number == WARM:
                before = held(process.pid)
            (attempt,) = chance.choices(list(TRIES), list(TRIES.values()))
            await attempt(api, chance)
            done[attempt.__name__] += 1
        assert json.loads((await ask(api, url_event("/pid"))).body)["pid"] == process.pid
        await asyncio.wait_for(api.waiting.wait(), 20)
        after = held(process.pid)
        process.send_signal(signal.SIGTERM)
        code, out = await asyncio.wait_for(process.wait(), 20), await process.stdout.read()
        assert b"ValueError" in await log
    assert set(done) == {attempt.__name__ for attempt in TRIES}
    assert (code, out) == (0, b"lifespan shutdown\n")
    assert after[0] <= before[0] + 1, f"file descriptors: {before[0]} → {after[0]}"
    assert after[1] <= before[1], f"threads: {before[1]} → {after[1]}"
    assert after[2] <= before[2] * 1.15, f"memory: {before[2]:.0f} → {after[2]:.0f} MB"
