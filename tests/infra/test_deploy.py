"""The whole of it, without AWS: bootstrap, deploy, a run against what was made, destroy, by the real CDK command line."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from functions.store.tables import TABLES
from infra.deployment import DEPLOYABLE, ROOT
from infra.local.runtime_api import RuntimeApi
from tests.infra.deploying.account import ACCOUNT, REGION, Account, account
from tests.infra.templates import Synth, Template, properties, resources
from tests.support.events import url_event
from tests.support.runtime import ask
from tests.support.sse import read_sse

pytestmark = [pytest.mark.long, pytest.mark.infra, pytest.mark.timeout(300)]

CONTEXT = {"removal": "destroy", "cors_origins": "https://app.example"}


@dataclass(frozen=True, slots=True)
class Deployed:
    account: Account
    template: Template
    outputs: dict[str, str]
    assembly: str

    def function(self, agent: str) -> str:
        """Its name in the account."""
        found = [one["FunctionName"] for one in self.account.client("lambda").list_functions()["Functions"]]
        (name,) = [one for one in found if one.startswith(f"agents-{agent}Function")]
        return str(name)


@pytest.fixture(scope="module")
def deployed(assets: Path, tmp_path_factory: pytest.TempPathFactory, synth: Synth) -> Iterator[Deployed]:
    """A stack in an empty account; its bundles are stand-ins."""
    from infra.app import build_app

    assembly = str(tmp_path_factory.mktemp("cdk"))
    template = build_app({"assets": str(assets)} | CONTEXT, outdir=assembly).synth().stacks[0].template
    with account() as at:
        at.cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", assembly)
        yield Deployed(at, template, at.deploy("--app", assembly), assembly)


def test_the_outputs_are_the_templates(deployed: Deployed) -> None:
    """A URL per agent, the tables, the bucket; and the addresses are those that the functions have."""
    assert deployed.outputs.keys() == deployed.template["Outputs"].keys()
    for agent in DEPLOYABLE:
        url = deployed.account.client("lambda").get_function_url_config(FunctionName=deployed.function(agent), Qualifier="live")
        assert deployed.outputs[f"{agent}Url"] == url["FunctionUrl"].rstrip("/") + "/"


def test_a_table_is_what_the_template_asks_for(deployed: Deployed) -> None:
    """Keys, billing, expiry and backups, as DynamoDB describes them afterwards."""
    client = deployed.account.client("dynamodb")
    for key in TABLES:
        wanted = properties(deployed.template, "AWS::DynamoDB::GlobalTable", f"agents/{key.capitalize()}/")
        name = deployed.outputs[f"{key}Table"]
        table = client.describe_table(TableName=name)["Table"]
        assert (table["KeySchema"], table["BillingModeSummary"]["BillingMode"]) == (wanted["KeySchema"], wanted["BillingMode"])
        assert len(table.get("LocalSecondaryIndexes", ())) == len(wanted.get("LocalSecondaryIndexes", ()))
        ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert ttl == {"AttributeName": wanted["TimeToLiveSpecification"]["AttributeName"], "TimeToLiveStatus": "ENABLED"}
        backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == (
            "ENABLED" if TABLES[key].backed_up else "DISABLED"
        )


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_a_url_streams_from_the_alias(deployed: Deployed, agent: str) -> None:
    """Its mode, its sign-in and its CORS are the template's; the alias stands on a published version; failures raise an alarm."""
    client, name = deployed.account.client("lambda"), deployed.function(agent)
    wanted = properties(deployed.template, "AWS::Lambda::Url", f"agents/{agent}/")
    url = client.get_function_url_config(FunctionName=name, Qualifier="live")
    assert {key: url[key] for key in ("AuthType", "InvokeMode")} == {key: wanted[key] for key in ("AuthType", "InvokeMode")}
    assert url["Cors"]["AllowOrigins"] == wanted["Cors"]["AllowOrigins"] == [CONTEXT["cors_origins"]]
    assert client.get_alias(FunctionName=name, Name="live")["FunctionVersion"] == "1"
    alarms = deployed.account.client("cloudwatch").describe_alarms()["MetricAlarms"]
    watched = [one["Properties"] for one in resources(deployed.template, "AWS::CloudWatch::Alarm", f"agents/{agent}/")]
    expected = [one["MetricName"] for one in watched if "MetricName" in one]
    assert len(watched) == len(expected) + 1  # the share of failed runs is made of several metrics
    named = [alarm["MetricName"] for alarm in alarms if {d["Value"] for d in alarm["Dimensions"]} >= {name}]
    assert sorted(named) == sorted(expected)


def test_a_function_has_what_the_template_gives_it(deployed: Deployed) -> None:
    """Memory, time and variables arrive; references in them are names of what was made."""
    settings = deployed.account.client("lambda").get_function_configuration(FunctionName=deployed.function("dev"))
    wanted = properties(deployed.template, "AWS::Lambda::Function", "agents/dev/")
    assert (settings["MemorySize"], settings["Timeout"]) == (wanted["MemorySize"], wanted["Timeout"])
    variables = settings["Environment"]["Variables"]
    assert variables.keys() == wanted["Environment"]["Variables"].keys()
    assert variables["AGENTS_BUCKET"] == deployed.outputs["payloadsBucket"]


@asynccontextmanager
async def invoked(deployed: Deployed, agent: str) -> AsyncIterator[RuntimeApi]:
    """A process as Lambda would start it: with the variables that the account has for the function, in front of its tables."""
    settings = deployed.account.client("lambda").get_function_configuration(FunctionName=deployed.function(agent))
    variables = settings["Environment"]["Variables"]
    assert variables.pop("AWS_LAMBDA_EXEC_WRAPPER").startswith("/var/task/")  # the bundle's own; here it runs from the source
    api = RuntimeApi()
    await api.start()
    lambdas = {"AWS_LAMBDA_RUNTIME_API": api.address, "AWS_LAMBDA_FUNCTION_NAME": settings["FunctionName"], "_HANDLER": settings["Handler"]}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "functions.runtime", cwd=ROOT, env={**deployed.account.environment, **variables, **lambdas}
    )
    try:
        yield api
    finally:
        process.kill()
        await process.wait()
        await api.close()


def _signed_in(event: dict[str, Any]) -> dict[str, Any]:
    """As AWS hands it over once it has checked the signature."""
    event["requestContext"]["authorizer"] = {"iam": {"userArn": f"arn:aws:iam::{ACCOUNT}:user/ann"}}
    return event


async def _run(deployed: Deployed, **fields: Any) -> dict[str, Any]:
    """One run of `dev` in an environment of its own → its last event."""
    asked = {"threadId": "t", "messages": [], "state": {}, "tools": [], "context": [], "forwardedProps": {}, **fields}
    async with invoked(deployed, "dev") as api:
        event = _signed_in(url_event("/", method="POST", body=json.dumps(asked), headers={"content-type": "application/json"}))
        reply = await asyncio.wait_for(ask(api, event), 60)
    end: dict[str, Any] = list(read_sse(reply.body))[-1]
    return end


async def test_an_agent_runs_on_what_was_deployed(deployed: Deployed) -> None:
    """It asks in one process and takes the answer in another, over the deployed tables; an unsigned caller is refused."""
    asked = await _run(deployed, runId="r1", messages=[{"id": "m", "role": "user", "content": "start demo"}])
    (question,) = asked["outcome"]["interrupts"]
    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"value": "hitlDemo"}}
    after = await _run(deployed, runId="r2", resume=[answer])
    assert [one["metadata"]["payload"]["type"] for one in after["outcome"]["interrupts"]] == ["input"]
    stored = deployed.account.client("dynamodb").scan(TableName=deployed.outputs["checkpointsTable"], Select="COUNT")["Count"]
    assert stored > 2
    async with invoked(deployed, "dev") as api:
        assert (await ask(api, url_event("/info"))).prelude.status == 403


def test_destroy_leaves_nothing(deployed: Deployed) -> None:
    """With `removal=destroy` the tables, functions and the bucket go with the stack."""
    deployed.account.cdk("destroy", "--force", "--app", deployed.assembly)
    assert deployed.account.client("lambda").list_functions()["Functions"] == []
    assert deployed.account.client("dynamodb").list_tables()["TableNames"] == []
    left = [bucket["Name"] for bucket in deployed.account.client("s3").list_buckets()["Buckets"]]
    assert deployed.outputs["payloadsBucket"] not in left
