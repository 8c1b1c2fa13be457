"""`agents threads import`: from tables that the other packages wrote, into a deployment and into the store of `agents dev`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from functions.runs.agents import compile_agent, find_spec
from functions.settings import get_settings
from functions.store.threads import Threads
from functions.web import create_app
from graphs.catalog import Deps
from infra.local.store import Store
from infra.local.variables import bare, user_variables
from tests.functions.store.imports.conftest import MakeOrigin, Origin
from tests.functions.web.test_app import body, client_of
from tests.infra.cli.conftest import Deployment
from tests.support.checkpoints import config, put

NO_BUCKET = "There is no bucket 'nowhere' to import from at {endpoint}: correct its name."


def words(origin: Origin, *more: str) -> list[str]:
    first, *second = origin.tables
    kind = ["--from", "dynamodb", "--writes-table", *second] if second else ["--from", "aws"]
    return ["import", *kind, "--table", first, "--agent", "dev", *more]


def talked(origin: Origin, thread_id: str, *texts: str) -> None:
    at = config(thread_id)
    for number in range(len(texts)):
        kinds = [(HumanMessage, AIMessage)[place % 2](text, id=str(place)) for place, text in enumerate(texts[: number + 1])]
        at = put(origin.saver, at, {"messages": kinds}, step=number)
    origin.saver.put_writes(at, [("messages", [])], "task")


@pytest.mark.parametrize("kind", ["aws", "dynamodb"])
def test_import(make_origin: MakeOrigin, deployment: Deployment, kind: str) -> None:
    """Dry, then for good, then again; the conversations are in the list, and an agent that did not write them shows them."""
    origin = make_origin(kind)
    talked(origin, "old", "hello", "hi")
    talked(origin, "new", "second")
    origin.saver.put_writes(config("new", "", "lost"), [("x", 1)], "task")
    before = origin.items()
    dry = deployment.run(*words(origin, "--dry-run"))
    assert dry.stdout == "Would copy 2 threads with 3 checkpoints and 2 writes; 0 had nothing new, 0 skipped.\n"
    assert (deployment.items(), dry.exit_code) == ([], 0)
    done = deployment.run(*words(origin))
    assert done.stdout == "Copied 2 threads with 3 checkpoints and 2 writes; 0 had nothing new, 0 skipped.\n"
    assert f"From {origin.tables[0]} to the threads of local with " in done.stderr
    again = json.loads(deployment.run(*words(origin, "--json", "--thread", "old", "--thread", "old")).stdout)
    assert again["total"] == {"threads": 0, "checkpoints": 0, "writes": 0, "unchanged": 1, "skipped": 0}
    assert [line.split()[3:] for line in deployment.run("list").stdout.splitlines()] == [["new", "second"], ["old", "hello"]]
    assert deployment.run("show", "old", "--agent", "dev").stdout == "user: hello\nassistant: hi\n"
    assert origin.items() == before


def test_what_could_not_be_copied(make_origin: MakeOrigin, deployment: Deployment) -> None:
    """Each with its reason; the exit code says that something is left to do."""
    origin = make_origin("aws-s3")
    put(origin.saver, config("big"), {"x": "é" * 400_000})
    talked(origin, "small", "hello")
    result = deployment.run(*words(origin, "--thread", "nope", "--thread", "big", "--thread", "small"))
    lines = result.stdout.splitlines()
    assert lines[0] == "nope: skipped: there is no such thread, or all of it has expired"
    assert lines[1].startswith("big: skipped: It has payloads in S3, such as big/checkpoints/")
    assert (lines[2], result.exit_code) == ("Copied 1 threads with 1 checkpoints and 1 writes; 0 had nothing new, 2 skipped.", 1)
    result = deployment.run(*words(origin, "--thread", "big", "--bucket", "nowhere"))
    assert (result.exit_code, result.stderr.splitlines()[1:]) == (1, [NO_BUCKET.format(endpoint=deployment.dynamo.endpoint)])


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--from", "aws", "--table", "nowhere", "--agent", "dev"], 1, "There is no table 'nowhere' to import from at http"),
        (["--from", "dynamodb", "--table", "x", "--agent", "dev"], 2, "is needed: that saver has a second table"),
        (["--from", "aws", "--table", "x", "--agent", "a:b"], 2, "holds no colon"),
        (["--from", "redis", "--table", "x", "--agent", "dev"], 2, "'redis' is not one of"),
    ],
)
def test_errors(deployment: Deployment, more: list[str], code: int, said: str) -> None:
    """What is wrong, and no traceback."""
    result = deployment.run("import", *more)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr


async def test_its_open_question_is_answered_over_the_url(make_origin: MakeOrigin, deployment: Deployment) -> None:
    """An agent's thread that was interrupted with the old saver: after the import its function URL asks the same, and goes on."""
    origin = make_origin("aws")
    dev = compile_agent(find_spec("dev"), Deps(None), origin.saver)
    await dev.ainvoke({"messages": [HumanMessage("start demo", id="u1")]}, config("t", None))
    assert (await anyio.to_thread.run_sync(lambda: deployment.run(*words(origin)))).exit_code == 0
    async with client_of(create_app("dev", deployment.settings)) as client:
        (asked,) = (await client.get("/threads/t/state")).json()["interrupts"]
        answer = {"interruptId": asked["id"], "status": "resolved", "payload": {"value": "simpleTool"}}
        ended = await client.post("/", json=body(None, resume=[answer]))
        assert '"outcome":{"type":"success"}' in ended.text
        messages = (await client.get("/threads/t/messages")).json()["messages"]
        roles = [message["role"] for message in messages if message["role"] != "reasoning"]
        assert roles == ["user", "assistant", "tool", "assistant"]
    (row,) = Threads(deployment.dynamo.tables["threads"], client=deployment.dynamo.client).list("local").rows
    assert (row.thread_id, row.title) == ("t", "start demo")


async def test_into_agents_dev(make_origin: MakeOrigin, deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a table on AWS into the store of a running `agents dev`, which is found by its data folder: listed there, deleted there."""
    origin = make_origin("aws")
    talked(origin, "t", "hello")
    folder = Path(user_variables()["AGENTS_DATA_DIR"])
    monkeypatch.setenv("AGENTS_TABLE_PREFIX", "agents-")
    get_settings.cache_clear()
    store = await Store.start(folder, table_prefix="agents-", env=bare(user_variables()), output=lambda name, line: None)
    try:

        async def run(*line: str) -> Any:
            return await anyio.to_thread.run_sync(lambda: deployment.run(*line, "--on", "dev"))

        assert (await run(*words(origin))).stdout.startswith("Copied 1 threads with 1 checkpoints")
        assert (await run("list")).stdout.endswith("  dev  t  hello\n")
        assert "1 checkpoint, 1 task with pending writes." in (await run("delete", "t", "--agent", "dev", "--yes")).stdout
        assert (await run("list")).stderr == "No conversations of local in agents dev.\n"
    finally:
        await store.stop()
    assert "No `agents dev` runs" in (await anyio.to_thread.run_sync(lambda: deployment.run("list", "--on", "dev"))).stderr
