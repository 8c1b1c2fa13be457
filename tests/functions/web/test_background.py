"""A run that nobody waits for, and who is told its end."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urljoin

import pytest
from ag_ui.core import RunAgentInput, RunFinishedEvent
from fastapi import FastAPI

from functions import own_event
from functions.runs.live import last_holder
from functions.settings import Settings
from functions.store.checkpoints import DynamoDBSaver
from functions.web import create_app, invoking
from functions.web.problems import Problem
from functions.web.webhooks import check_webhook, tell
from tests.functions.web.test_app import body, client_of
from tests.support.checkpoints import noise
from tests.support.dynamodb import Dynamo
from tests.support.sse import read_sse

ASYNC = {"prefer": "respond-async"}
SECRET = "whsec"
SETTINGS = Settings(auth="none", offline_delay_ms=0, webhook_hosts="127.0.0.1, hooks.example", webhook_secret=SECRET)


class Context:
    """Of an invocation that could be invoked again."""

    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:dev:live"
    aws_request_id = "a"
    trace_id = ""

    def __init__(self, left_ms: int = 900_000) -> None:
        self._left_ms = left_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._left_ms


class Lambda:
    """Its Invoke API, over HTTP: keeps the events that it takes, unless it is throttled."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 202
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["content-length"]))
                outer.calls.append((self.path, {name.lower(): value for name, value in self.headers.items()}, sent))
                if "/functions/" in self.path and outer.status == 202:
                    outer.events.append(json.loads(sent))
                self.send_response(outer.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                return

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    found = Lambda()
    for name, value in (("AWS_ENDPOINT_URL_LAMBDA", found.url), ("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    invoking._client.cache_clear()
    yield found
    invoking._client.cache_clear()
    found.close()


@pytest.fixture
def saver(dynamo: Dynamo) -> DynamoDBSaver:
    return DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)


@pytest.fixture
def app(saver: DynamoDBSaver) -> FastAPI:
    return create_app("dev", SETTINGS, checkpointer=saver)


async def delivered(app: FastAPI, event: dict[str, Any], left_ms: int = 900_000) -> dict[str, Any]:
    """The event reaches the function, as the runtime hands it to the app."""
    scope = {own_event.SCOPE: event[own_event.KEY], "aws.context": Context(left_ms)}
    async with client_of(app, **scope) as client:
        found: dict[str, Any] = (await client.post(own_event.PATH)).json()
    return found


async def events_of(app: FastAPI, place: str) -> list[dict[str, Any]]:
    async with client_of(app) as client:
        return read_sse((await client.get(f"/{place}")).content)


async def test_it_runs_in_an_invocation_of_its_own(app: FastAPI, function: Lambda) -> None:
    """202 with its place while nothing has run; then the whole run, from RUN_STARTED to its end, is there. The same key starts nothing."""
    async with client_of(app, **{"aws.context": Context()}) as client:
        for _ in range(2):
            answer = await client.post("/", json=body(), headers={**ASYNC, "idempotency-key": "once"})
            assert (answer.status_code, answer.json()) == (202, {"threadId": "t", "runId": "r", "status": "accepted"})
            assert answer.headers["preference-applied"] == "respond-async"
        assert (await client.post("/", json=body(run="other"))).json()["error"]["code"] == "RUN_IN_PROGRESS"
    (event,) = function.events
    assert await delivered(app, event) == {"goesOn": True}
    assert await delivered(app, event) == {"goesOn": False}
    events = await events_of(app, answer.headers["location"])
    assert (events[0]["type"], events[-1]["type"], events[-1]["outcome"]["type"]) == ("RUN_STARTED", "RUN_FINISHED", "interrupt")
    async with client_of(app, **{"aws.context": Context()}) as client:
        again = await client.post("/", json=body(), headers={**ASYNC, "idempotency-key": "once"})
    assert (again.status_code, len(function.events)) == (202, 1)


async def test_what_it_means_is_said_in_its_stream(app: FastAPI, function: Lambda, saver: DynamoDBSaver) -> None:
    """An answer to a question that was never asked: accepted, and refused where it is planned; the thread is free again."""
    resume = [{"interruptId": "nobody asked", "status": "resolved", "payload": 1}]
    async with client_of(app, **{"aws.context": Context()}) as client:
        answer = await client.post("/", json=body(None, resume=resume), headers=ASYNC)
    assert answer.status_code == 202
    await delivered(app, function.events[0])
    events = await events_of(app, answer.headers["location"])
    assert (events[0]["type"], events[-1]["type"]) in [("RUN_STARTED", "RUN_ERROR"), ("RUN_STARTED", "RUN_FINISHED")]
    held = await last_holder(app.state.served.graph("local").checkpointer, "t")
    assert held is None or not held.live


@pytest.mark.parametrize(
    ("scope", "status", "sent", "answered"),
    [
        ({}, 202, {}, (422, "NO_BACKGROUND")),
        ({"aws.context": Context()}, 429, {}, (503, "NOT_STARTED")),
        ({"aws.context": Context()}, 202, {"forwardedProps": {"webhook": {"url": "https://evil.example/"}}}, (422, "WEBHOOK_REFUSED")),
        ({"aws.context": Context()}, 202, {"forwardedProps": {"webhook": "x"}}, (422, "BAD_INPUT")),
        ({"aws.context": Context()}, 202, {"forwardedProps": {"webhook": {"url": "https://[x"}}}, (422, "BAD_INPUT")),
        ({"aws.context": Context()}, 202, {"forwardedProps": {"webhook": {"url": "https://hooks.example:99999/"}}}, (422, "BAD_INPUT")),
    ],
    ids=["no function", "Lambda takes no event", "a foreign host", "no object", "no URL", "no port"],
)
async def test_what_cannot_be_accepted(
    app: FastAPI, function: Lambda, scope: dict[str, Any], status: int, sent: dict[str, Any], answered: tuple[int, str]
) -> None:
    """Is said at once; nothing has run, and the thread takes the next run."""
    function.status = status
    async with client_of(app, **scope) as client:
        answer = await client.post("/", json=body(**sent), headers=ASYNC)
        assert (answer.status_code, answer.json()["error"]["code"]) == answered
        assert read_sse((await client.post("/", json=body(run="next"))).content)[-1]["type"] == "RUN_FINISHED"


async def test_the_webhook_is_told_the_end(app: FastAPI, function: Lambda) -> None:
    """Once, with the terminal event, signed as Standard Webhooks has it."""
    hook = {"webhook": {"url": f"{function.url}/hook?a=b"}}
    async with client_of(app, **{"aws.context": Context()}) as client:
        assert (await client.post("/", json=body(forwardedProps=hook), headers=ASYNC)).status_code == 202
    await delivered(app, function.events[0])
    ((path, headers, sent),) = [call for call in function.calls if call[0].startswith("/hook")]
    assert path == "/hook?a=b"
    assert json.loads(sent)["type"] == "RUN_FINISHED"
    told = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + sent
    expected = base64.b64encode(hmac.new(SECRET.encode(), told, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


async def test_who_waits_for_a_run_has_no_webhook(saver: DynamoDBSaver, function: Lambda) -> None:
    """Also where the run ends in another invocation: what was not checked is not called."""
    app = create_app("dev", SETTINGS.model_copy(update={"drain_seconds": 899.999}), checkpointer=saver)
    hook = {"webhook": {"url": f"{function.url}/hook"}}
    async with client_of(app, **{"aws.context": Context()}) as client:
        waits = asyncio.create_task(client.post("/", json=body(forwardedProps=hook)))
        taken = 0
        while not waits.done():
            await asyncio.sleep(0.05)
            if taken < len(function.events):
                await delivered(app, function.events[taken], left_ms=600_000)
                taken += 1
    assert read_sse(waits.result().content)[-1]["type"] == "RUN_FINISHED"
    assert [call[0] for call in function.calls if call[0].startswith("/hook")] == []
    assert function.events


async def test_an_input_of_any_size_goes_along(app: FastAPI, function: Lambda) -> None:
    """Over what one item holds, compressed."""
    text = noise(900_000).hex()
    async with client_of(app, **{"aws.context": Context()}) as client:
        answer = await client.post("/", json=body(text), headers=ASYNC)
    assert await delivered(app, function.events[0]) == {"goesOn": True}
    assert (await events_of(app, answer.headers["location"]))[-1]["type"] == "RUN_FINISHED"


async def test_what_is_kept_no_longer_is_given_up(app: FastAPI, function: Lambda, saver: DynamoDBSaver) -> None:
    """The thread is free at once."""
    async with client_of(app, **{"aws.context": Context()}) as client:
        await client.post("/", json=body(), headers=ASYNC)
    own = app.state.served.graph("local").checkpointer
    own.events(60).delete_thread(own.partition("t"))
    assert await delivered(app, function.events[0]) == {"goesOn": False}
    held = await last_holder(own, "t")
    assert held is not None
    assert not held.live


async def test_its_place_is_relative_to_where_it_was_asked(app: FastAPI, function: Lambda) -> None:
    """CopilotKit's path is two levels down; an id stands in a path as it must."""
    async with client_of(app, **{"aws.context": Context()}) as client:
        for number, path in enumerate(("/", "/agent/dev/run")):
            answer = await client.post(path, json=body(thread=f"t {number}"), headers=ASYNC)
            place = urljoin(path, answer.headers["location"])
            assert place == f"/threads/t%20{number}/runs/r/events"


def given(url: str) -> RunAgentInput:
    return RunAgentInput.model_validate(body(forwardedProps={"webhook": {"url": url}}))


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "http://hooks.example/",
        "https://hooks.example.evil.example/",
        "https://user@hooks.example/",
        "https://evil.example@hooks.example/",
        "file:///etc/passwd",
        "//hooks.example/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::ffff:127.0.0.1]/",
        "",
    ],
)
def test_what_is_never_called(url: str) -> None:
    """Another host, another scheme, a user in front of it."""
    with pytest.raises(Problem):
        check_webhook(SETTINGS, given(url))
    check_webhook(SETTINGS, given("https://hooks.example/run?x=1"))


async def test_a_name_that_leads_inside_is_not_called(
    monkeypatch: pytest.MonkeyPatch, function: Lambda, caplog: pytest.LogCaptureFixture
) -> None:
    """An allowed name whose address is a private one; and a redirect is not followed."""
    monkeypatch.setattr("functions.web.webhooks.ATTEMPTS", 1)
    end = RunFinishedEvent(thread_id="t", run_id="r")
    port = function.url.rpartition(":")[2]

    async def inside(self: Any, host: str, port: int) -> Any:
        return [(0, 0, 0, "", ("10.0.0.1", port))]

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", inside)
    assert not await tell(SETTINGS, given(f"https://hooks.example:{port}/"), end, None)
    assert "no public address" in caplog.text
    monkeypatch.undo()
    monkeypatch.setattr("functions.web.webhooks.ATTEMPTS", 1)
    function.status = 302
    assert not await tell(SETTINGS, given(f"{function.url}/hook"), end, None)
    assert "it answered 302" in caplog.text


async def test_it_is_tried_again_within_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch, function: Lambda) -> None:
    """A few times; not once more where the invocation would end meanwhile."""
    monkeypatch.setattr("functions.web.webhooks.FIRST_PAUSE", 0.01)
    function.status = 500
    end = RunFinishedEvent(thread_id="t", run_id="r")
    for left, calls in ((900_000, 5), (8_000, 1)):
        function.calls.clear()
        assert not await tell(SETTINGS, given(f"{function.url}/hook"), end, partial(int, left))
        assert len(function.calls) == calls
