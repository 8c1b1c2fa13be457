"""`agents threads list|show|delete` on what runs have left in the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from functions.settings import get_settings
from functions.store.checkpoints import DynamoDBSaver
from functions.store.holders import asked_to_stop
from infra.cli.conversation import told
from tests.infra.cli.conftest import Deployment, said
from tests.support.checkpoints import config, noise, put

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def test_list(deployment: Deployment) -> None:
    """The latest first, of all agents or of one, no more than asked for; as a table and as JSON."""
    deployment.talk("dev", said("start demo", "one"), said("second", "two"))
    deployment.talk("reactAgent", said("hello\nthere", "one"))
    lines = deployment.run("list").stdout.splitlines()
    assert [line.split()[2:4] for line in lines] == [["reactAgent", "one"], ["dev", "two"], ["dev", "one"]]
    assert [line.endswith(title) for line, title in zip(lines, ("hello", "second", "start demo"), strict=True)] == [True] * 3
    rows = json.loads(deployment.run("list", "--agent", "dev", "--limit", "1", "--json").stdout)
    assert [(row["threadId"], row["agent"], row["title"], row["createdAt"] <= row["updatedAt"]) for row in rows] == [
        ("two", "dev", "second", True)
    ]


def test_nothing_to_list(deployment: Deployment) -> None:
    """It says whose and where."""
    result = deployment.run("list", "--principal", "eve")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"No conversations of eve in {deployment.dynamo.endpoint}.\n"


def test_on_aws_it_is_the_callers_own_threads(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where callers are known by their AWS identity, whose credentials these are is asked of AWS."""
    monkeypatch.setenv("AGENTS_AUTH", "iam")
    get_settings.cache_clear()
    result = deployment.run("list")
    assert result.stderr == f"No conversations of arn:aws:sts::123456789012:user/moto in {deployment.dynamo.endpoint}.\n"


def test_show(deployment: Deployment) -> None:
    """What was said, what is asked with the command that answers it, and the state; as JSON what the routes give."""
    deployment.talk("dev", said("start demo", "t"))
    lines = deployment.run("show", "t", "--agent", "dev").stdout.splitlines()
    assert lines[0] == "user: start demo"
    assert lines[1].startswith("? ")
    assert [line.strip()[:2] for line in lines[2:6]] == ["1.", "2.", "3.", "4."]
    assert lines[6:8] == [
        "Waiting for an answer. To give it:",
        """  agents invoke dev --thread t --resume '{"value": "weather"}'""",
    ]
    found = json.loads(deployment.run("show", "t", "--agent", "dev", "--json").stdout)
    assert [(message["role"], message["content"]) for message in found["messages"]] == [("user", "start demo")]
    assert (len(found["interrupts"]), found["threadId"], found["state"]) == (1, "t", {"input": "start demo"})


def test_show_rebuilds_what_is_stored_as_additions(deployment: Deployment) -> None:
    """Several turns with tools: every message is there, calls beside their results."""
    turns = [said(text, "t", run) for text, run in (("天气 in Paris", "r1"), ("again", "r2"))]
    deployment.talk("dev", *(turn | {"state": {"devIntent": "weather"}} for turn in turns))
    text = deployment.run("show", "t", "--agent", "dev").stdout
    parts = ("user: ", "assistant: ", "→ get_weather", "← get_weather", "state ")
    assert [text.count(part) for part in parts] == [2, 2, 2, 2, 1]
    assert '"devIntent": "weather"' in text.splitlines()[-1]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a\x1b[2Jb", "user: a[2Jb"),
        ([{"type": "text", "text": "See"}, {"type": "image", "source": {}}], "user: See [image]"),
        ("", None),
    ],
)
def test_a_message_as_text(content: object, line: str | None) -> None:
    """Control characters go, other parts than text are named, and what is empty is left out."""
    thread = {"threadId": "t", "messages": [{"role": "user", "id": "1", "content": content}], "interrupts": [], "state": {}}
    assert [click.unstyle(one) for one in told(thread, "dev", None)] == ([line] if line else [])


def test_delete(deployment: Deployment, s3: S3Client, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names what is there, asks, and leaves nothing of the thread and everything of its neighbours."""
    monkeypatch.setenv("AGENTS_BUCKET", bucket)
    get_settings.cache_clear()
    deployment.talk("dev", said("start demo", "keep"))
    kept = deployment.items()
    deployment.talk("dev", said("start demo", "t"))
    saver = DynamoDBSaver(deployment.dynamo.checkpoints, client=deployment.dynamo.client, bucket=bucket, objects_client=s3)
    put(saver.for_principal("dev:local"), config("t"), {"x": noise(400_000)})
    refused = deployment.run("delete", "t", "--agent", "dev", typed="n\n")
    assert refused.exit_code == 1
    assert (
        "its row ('start demo'), 3 checkpoints, 2 tasks with pending writes, 1 record of its runs, 1 object in s3://bucket-"
        in refused.stdout
    )
    done = deployment.run("delete", "t", "--agent", "dev", "--yes")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "Deleted.")
    assert [item for item in deployment.items() if "deleted_at" not in item] == kept
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


@pytest.mark.parametrize(
    "words", [["show", "--agent", "dev"], ["delete", "--agent", "dev", "--yes"], ["delete", "--agent", "other", "--yes"]]
)
def test_an_unknown_thread(deployment: Deployment, words: list[str]) -> None:
    """It says so and ends with 1, and has left nothing behind."""
    result = deployment.run(words[0], "nope", *words[1:])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"local has no thread nope with {words[2]}" in result.stderr
    assert deployment.items() == []


def test_a_thread_at_work_is_stopped_first(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its run does not end nothing is deleted, and it is named; when it has, all goes."""
    saver = DynamoDBSaver(deployment.dynamo.checkpoints, client=deployment.dynamo.client).for_principal("dev:local")
    put(saver, config("t"))
    grant = saver.leases.take(saver.partition("t"), "run-7", 30)
    with monkeypatch.context() as patch:
        patch.setattr("functions.runs.deleting.DELETES_WITHIN", 0.1)
        result = deployment.run("delete", "t", "--agent", "dev", "--yes")
    assert (result.exit_code, "Run run-7 is in progress" in result.stderr) == (1, True)
    assert saver.get_tuple(config("t")) is not None
    assert asked_to_stop(saver.leases.reader.table, grant)
    saver.leases.give_back(grant)
    assert deployment.run("delete", "t", "--agent", "dev", "--yes").exit_code == 0
    assert saver.get_tuple(config("t")) is None


def test_stop(deployment: Deployment) -> None:
    """The run that is at work is told; what else there may be is said."""
    saver = DynamoDBSaver(deployment.dynamo.checkpoints, client=deployment.dynamo.client).for_principal("dev:local")
    grant = saver.leases.take(saver.partition("t"), "run-7", 30)
    assert deployment.run("stop", "t", "--agent", "dev").stdout == "Run run-7 was told to stop.\n"
    assert asked_to_stop(saver.leases.reader.table, grant)
    saver.leases.give_back(grant)
    result = deployment.run("stop", "t", "--agent", "dev")
    assert (result.exit_code, result.stderr) == (1, "Nothing runs on t. Its last run was run-7.\n")
    assert "has no thread unheard" in deployment.run("stop", "unheard", "--agent", "dev").stderr


def test_rename_and_pin(deployment: Deployment) -> None:
    """As the list shows it then."""
    deployment.talk("dev", said("start demo", "one"), said("second", "two"))
    assert deployment.run("rename", "one", "  A name ", "--agent", "dev").stdout == "one is 'A name' now.\n"
    assert deployment.run("pin", "one", "--agent", "dev").stdout == "one is pinned now.\n"
    rows = json.loads(deployment.run("list", "--json").stdout)
    assert [(row["threadId"], row["title"]) for row in rows] == [("one", "A name"), ("two", "second")]
    assert deployment.run("pin", "one", "--agent", "dev", "--off").stdout == "one is not pinned now.\n"
    for words in (["rename", "none", "x"], ["pin", "none"]):
        result = deployment.run(*words, "--agent", "dev")
        assert (result.exit_code, "has no thread none" in result.stderr) == (1, True)
    assert deployment.run("rename", "one", " ", "--agent", "dev").exit_code == 2


@pytest.mark.parametrize(
    ("words", "variables", "code", "said"),
    [
        (["list"], {"AGENTS_TABLE_PREFIX": "nowhere-"}, 1, "'nowhere-threads' does not exist at http"),
        (["list"], {"AGENTS_TTL_DAYS": "soon"}, 2, "A setting is wrong"),
        (["list"], {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, 1, "Could not connect"),
        (["list", "--on", "dev"], {}, 1, "No `agents dev` runs with the data of"),
        (["list"], {"AWS_ENDPOINT_URL": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": ""}, 1, "no AWS region is set. Start it: agents dev"),
        (["show", "t", "--agent", "nobody"], {}, 2, "There is no agent 'nobody'. Agents: "),
    ],
)
def test_errors_say_what_to_do(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, words: list[str], variables: dict[str, str], code: int, said: str
) -> None:
    """One sentence on stderr, no traceback."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    get_settings.cache_clear()
    result = deployment.run(*words)
    assert (result.exit_code, said in result.stderr, "Traceback" in result.stderr) == (code, True, False), result.stderr
