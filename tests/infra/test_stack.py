from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from functions.observing.names import CONTINUED, METRICS, OUTCOMES
from functions.settings import Settings
from functions.store.tables import TABLES, create_tables
from infra.bundle import BOOTSTRAP, LAMBDA, MANIFEST
from infra.costs.assumptions import Assumptions
from infra.deployment import DEPLOYABLE, ROOT, project_context
from infra.observability import FAILING
from tests.infra.conftest import fake_bundle
from tests.infra.templates import Synth, properties, resources, variables

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_every_agent_of_the_catalog_has_a_function(synth: Synth, agent: str) -> None:
    """The function starts our loop through the exec wrapper, on the machine that its bundle was made for."""
    function = properties(synth(), "AWS::Lambda::Function", f"agents/{agent}/")
    assert function["Runtime"] == f"python{LAMBDA.python}"
    assert function["Architectures"] == ["arm64"]
    assert function["Handler"] == "functions.entry.app"
    assert function["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"] == f"/var/task/{BOOTSTRAP.as_posix()}"
    assert function["LoggingConfig"]["LogFormat"] == "JSON"
    assert function["Timeout"] == 900


def test_there_are_no_other_functions(synth: Synth) -> None:
    """No helper function of CDK's own sneaks in, so nothing but the agents runs in the account."""
    assert len(resources(synth(), "AWS::Lambda::Function")) == len(DEPLOYABLE)


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_the_url_streams_from_the_live_alias(synth: Synth, agent: str) -> None:
    """The URL is on the alias (a deploy moves it whole), streams, and asks for SigV4 unless told otherwise."""
    template = synth()
    url = properties(template, "AWS::Lambda::Url", f"agents/{agent}/")
    assert (url["InvokeMode"], url["Qualifier"], url["AuthType"]) == ("RESPONSE_STREAM", "live", "AWS_IAM")
    assert properties(template, "AWS::Lambda::Alias", f"agents/{agent}/")["Name"] == "live"
    assert len(resources(template, "AWS::Lambda::Version", f"agents/{agent}/")) == 1
    assert "Cors" not in url


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_an_open_url_has_both_permissions(synth: Synth, agent: str) -> None:
    """Since October 2025 a URL without auth answers 403 unless InvokeFunctionUrl and InvokeFunction are both granted."""
    template = synth(auth="none")
    granted = {p["Properties"]["Action"]: p["Properties"] for p in resources(template, "AWS::Lambda::Permission", f"agents/{agent}/")}
    assert set(granted) == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    assert granted["lambda:InvokeFunctionUrl"]["FunctionUrlAuthType"] == "NONE"
    assert granted["lambda:InvokeFunction"]["InvokedViaFunctionUrl"] is True
    assert properties(template, "AWS::Lambda::Url", f"agents/{agent}/")["AuthType"] == "NONE"


def test_a_signed_url_is_open_to_nobody(synth: Synth) -> None:
    """With IAM no resource policy lets anybody in: a caller needs rights of its own."""
    assert resources(synth(), "AWS::Lambda::Permission") == []


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_tokens_open_the_url_and_not_the_app(synth: Synth, agent: str) -> None:
    """With `jwt` AWS lets every request through, and the app, told whose tokens it takes, decides; a browser may send them."""
    rules = {"auth": "jwt", "jwt_issuer": "https://id.example/realms/a", "jwt_audience": "agents"}
    template = synth(**rules, cors_origins="https://a.example")
    url = properties(template, "AWS::Lambda::Url", f"agents/{agent}/")
    assert (url["AuthType"], "authorization" in url["Cors"]["AllowHeaders"]) == ("NONE", True)
    told = variables(template, agent)
    assert {name: told[f"AGENTS_{name.upper()}"] for name in rules} == rules
    assert "AGENTS_JWT_JWKS_URL" not in told
    assert not any(name.startswith("AGENTS_JWT") for name in variables(synth(), agent))


def test_cors_comes_from_the_context(synth: Synth) -> None:
    """The named origins may send what AG-UI and SigV4 need; OPTIONS is not a method that a URL accepts in its list."""
    cors = properties(synth(cors_origins="https://a.example, https://b.example"), "AWS::Lambda::Url", "agents/dev/")["Cors"]
    assert cors["AllowOrigins"] == ["https://a.example", "https://b.example"]
    assert cors["AllowMethods"] == ["GET", "POST", "PATCH", "DELETE"]
    assert {"content-type", "authorization", "x-amz-content-sha256"} <= set(cors["AllowHeaders"])
    assert "AllowCredentials" not in cors or cors["AllowCredentials"] is False


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_the_environment_is_what_the_settings_read(synth: Synth, agent: str) -> None:
    """Every AGENTS_ variable is a field of Settings, its value is one that Settings accepts, and no secret is among them."""
    context = {
        "auth": "none",
        "model": "bedrock_converse:anthropic.claude-sonnet-4-20250514-v1:0",
        "table_prefix": "demo-",
        "ttl_days": 7,
        "log_level": "DEBUG",
        "embeddings": "bedrock:amazon.titan-embed-text-v2:0",
        "sample_knowledge": False,
    }
    told = variables(synth(**context), agent)
    ours = {key.removeprefix("AGENTS_").lower(): value for key, value in told.items() if key.startswith("AGENTS_")}
    assert set(ours) <= set(Settings.model_fields)
    settings = Settings.model_validate(ours | {"bucket": "a-bucket"})
    told_by_lambda = {"log_level"}
    assert settings.model_dump(include={"name", *context} - told_by_lambda) == {"name": agent} | {
        key: value for key, value in context.items() if key not in told_by_lambda
    }
    assert set(told) - {f"AGENTS_{key.upper()}" for key in ours} == {"AWS_LAMBDA_EXEC_WRAPPER"}


@mock_aws
def test_tables_are_those_that_the_store_creates(synth: Synth) -> None:
    """Names, keys, indexes, billing and TTL attribute equal what `create_tables` makes for the local stack."""
    client = boto3.client("dynamodb", region_name="us-east-1")
    names = create_tables(client, "agents-")
    for key, name in names.items():
        expected = client.describe_table(TableName=name)["Table"]
        table = properties(synth(), "AWS::DynamoDB::GlobalTable", f"agents/{key.capitalize()}/")
        assert table["TableName"] == name
        assert table["KeySchema"] == expected["KeySchema"]
        assert table["AttributeDefinitions"] == expected["AttributeDefinitions"]
        assert table.get("LocalSecondaryIndexes", []) == [
            {field: index[field] for field in ("IndexName", "KeySchema", "Projection")}
            for index in expected.get("LocalSecondaryIndexes", [])
        ]
        assert table["BillingMode"] == expected["BillingModeSummary"]["BillingMode"]
        ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert table["TimeToLiveSpecification"] == {"AttributeName": ttl["AttributeName"], "Enabled": True}


@pytest.mark.parametrize(("removal", "policy", "locked"), [(None, "Retain", True), ("destroy", "Delete", False)])
def test_data_outlives_the_stack_unless_told_otherwise(synth: Synth, removal: str | None, policy: str, locked: bool) -> None:
    """Tables, bucket and logs are kept by default, and the tables cannot be deleted by hand; what outlives a day has backups, always."""
    template = synth(**({"removal": removal} if removal else {}))
    tables = resources(template, "AWS::DynamoDB::GlobalTable")
    assert len(tables) == len(TABLES)
    for table in tables:
        (replica,) = table["Properties"]["Replicas"]
        backed_up = TABLES[table["Properties"]["TableName"].removeprefix("agents-")].backed_up
        assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": backed_up}
        assert replica["DeletionProtectionEnabled"] is locked
    kept = [*tables, *resources(template, "AWS::S3::Bucket"), *resources(template, "AWS::Logs::LogGroup")]
    assert {(r["DeletionPolicy"], r["UpdateReplacePolicy"]) for r in kept} == {(policy, policy)}


def test_the_bucket_is_closed(synth: Synth) -> None:
    """No public access by any way, TLS 1.2 or newer only, and uploads that were given up do not cost for ever."""
    template = synth()
    bucket = properties(template, "AWS::S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "ExpirationInDays" not in rule
    statements = properties(template, "AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    denied = {json.dumps(s["Condition"], sort_keys=True) for s in statements if s["Effect"] == "Deny" and s["Action"] == "s3:*"}
    assert denied == {'{"Bool": {"aws:SecureTransport": "false"}}', '{"NumericLessThan": {"s3:TlsVersion": 1.2}}'}


def test_outputs_name_every_url_by_its_agent(synth: Synth) -> None:
    """Whoever deploys reads each agent's address, the tables and the bucket from the outputs."""
    template = synth()
    urls = {f"{agent}Url" for agent in DEPLOYABLE}
    assert set(template["Outputs"]) == urls | {f"{key}Table" for key in TABLES} | {"payloadsBucket"}
    assert all(template["Outputs"][name]["Value"]["Fn::GetAtt"][1] == "FunctionUrl" for name in urls)


def test_the_context_chooses_agents_and_their_size(synth: Synth) -> None:
    """A list picks agents; memory, timeout and reserved concurrency are one number or an object by agent."""
    template = synth(
        agents="dev", memory='{"dev": 512}', timeout=60, reserved_concurrency={"dev": 3}, table_prefix="x-", retention_days="7"
    )
    function = properties(template, "AWS::Lambda::Function")
    assert function["Environment"]["Variables"]["AGENTS_NAME"] == "dev"
    assert (function["MemorySize"], function["Timeout"], function["ReservedConcurrentExecutions"]) == (512, 60, 3)
    assert properties(template, "AWS::Logs::LogGroup")["RetentionInDays"] == 7
    assert {t["Properties"]["TableName"] for t in resources(template, "AWS::DynamoDB::GlobalTable")} == {f"x-{key}" for key in TABLES}


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ({"agents": "dev,nobody"}, "nobody"),
        ({"agents": ""}, "agents"),
        ({"auth": "maybe"}, "maybe"),
        ({"auth": "jwt"}, "jwt_issuer"),
        ({"auth": "jwt", "jwt_issuer": "http://id.example", "jwt_audience": "agents"}, "https"),
        ({"secrets": '{"AWS_REGION": "x"}'}, "AWS_REGION"),
        ({"secrets": "sk-1234"}, "secrets"),
        ({"removal": "keep"}, "removal"),
        ({"retention_days": "31"}, "retention_days"),
        ({"memory": "lots"}, "memory"),
        ({"table_prefix": "a/b"}, "table_prefix"),
        ({"model": "nobody:gpt"}, "nobody"),
    ],
)
@pytest.mark.usefixtures("synth")
def test_a_wrong_context_is_named(context: dict[str, str], named: str) -> None:
    """A typing error ends in a message with the key or the value, not in a template that is not what was asked for."""
    from infra.app import build_app

    with pytest.raises(ValueError, match=named):
        build_app(context)


@pytest.mark.parametrize(("model", "lacks"), [("openai:gpt-5", "OPENAI_API_KEY"), ("anthropic:claude-x", "ANTHROPIC_API_KEY")])
@pytest.mark.usefixtures("synth")
def test_a_model_without_its_key_is_not_deployed(model: str, lacks: str) -> None:
    """A function that fails at every run is refused with what it would lack and where to name it, before anything is made."""
    from infra.app import build_app

    with pytest.raises(ValueError, match=rf"{model}.*{lacks}.*secrets.*bedrock_converse"):
        build_app({"model": model, "secrets": {"OTHER_API_KEY": "x"}})


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_each_agent_has_alarms(synth: Synth, agent: str) -> None:
    """Errors, throttles, runs within a tenth of their timeout and the share of failed runs reach the topic; without a topic the alarms are
    still there."""
    topic = "arn:aws:sns:us-east-1:123456789012:ops"
    alarms = [a["Properties"] for a in resources(synth(alarm_topic=topic, timeout=100), "AWS::CloudWatch::Alarm", f"agents/{agent}/")]
    assert {a.get("MetricName"): a["Threshold"] for a in alarms} == {"Errors": 1, "Throttles": 1, "Duration": 90_000, None: FAILING}
    (share,) = (a["Metrics"] for a in alarms if "Metrics" in a)
    named = {m["Id"]: {d["Name"]: d["Value"] for d in m["MetricStat"]["Metric"]["Dimensions"]} for m in share if "MetricStat" in m}
    assert named == {outcome: {"agent": agent, "outcome": outcome} for outcome in OUTCOMES if outcome != CONTINUED}
    assert {m["MetricStat"]["Metric"]["Namespace"] for m in share if "MetricStat" in m} == {"AgentFunctions/agents"}
    assert sum("MetricName" in a for a in alarms) + len(named) == Assumptions().alarm_metrics, "each is paid"
    assert [a["AlarmActions"] for a in alarms] == [[topic]] * 4
    assert all("AlarmActions" not in a["Properties"] for a in resources(synth(), "AWS::CloudWatch::Alarm"))


def test_one_dashboard_shows_every_agent(synth: Synth) -> None:
    """The dashboard has a row per agent and one for the tables, and every metric that a run writes is somewhere on it."""
    body = json.dumps(properties(synth(), "AWS::CloudWatch::Dashboard")["DashboardBody"])
    assert all(f"{agent}: runs" in body for agent in DEPLOYABLE)
    assert "tables: consumed units" in body
    assert [metric.name for metric in METRICS if metric.name not in body.replace("RunDuration", "")] == ["RunDuration"], "Lambda's is there"


@pytest.mark.parametrize(
    ("level", "lambdas", "ours"), [("DEBUG", "DEBUG", None), ("INFO", "INFO", None), ("WARN", "INFO", "WARN"), ("ERROR", "INFO", "ERROR")]
)
def test_no_log_level_drops_the_metrics(synth: Synth, level: str, lambdas: str, ours: str | None) -> None:
    """Lambda takes lines without a level for INFO, as metrics are: above that its filter stays open and our own level does it."""
    function = properties(synth(log_level=level, agents="dev"), "AWS::Lambda::Function")
    assert function["LoggingConfig"]["ApplicationLogLevel"] == lambdas
    assert function["Environment"]["Variables"].get("AGENTS_LOG_LEVEL") == ours


def test_tracing_is_a_choice(synth: Synth) -> None:
    """Off by default; X-Ray by Lambda itself, OpenTelemetry by a layer, whose `otel-instrument` the bootstrap runs. nag stays clean."""
    layer = "arn:aws:lambda:eu-west-1:123456789012:layer:otel:7"
    plain = properties(synth(agents="dev"), "AWS::Lambda::Function")
    assert not {"TracingConfig", "Layers"} & set(plain)
    traced = properties(synth(agents="dev", tracing="xray", layers=layer), "AWS::Lambda::Function")
    assert (traced["TracingConfig"], traced["Layers"]) == ({"Mode": "Active"}, [layer])


def test_snapstart_is_a_choice(synth: Synth) -> None:
    """Off by default, since every version costs by the month; on, the same checks still pass."""
    assert "SnapStart" not in properties(synth(), "AWS::Lambda::Function", "agents/dev/")
    assert properties(synth(snap_start="true"), "AWS::Lambda::Function", "agents/dev/")["SnapStart"] == {"ApplyOn": "PublishedVersions"}


def test_new_code_is_a_new_version(synth: Synth, tmp_path: Path) -> None:
    """The alias moves when the bundle's files change, and stays when only the manifest does."""

    def version(name: str, text: str, inputs: str) -> str:
        folder = fake_bundle(tmp_path / name / "dev", text)
        (folder / MANIFEST).write_text(json.dumps({"extras": [], "inputs": inputs}), encoding="utf-8")
        template = synth(agents="dev", assets=str(tmp_path / name))
        return str(next(key for key, value in template["Resources"].items() if value["Type"] == "AWS::Lambda::Version"))

    assert version("a", "one", "1") == version("b", "one", "2")
    assert version("a", "one", "1") != version("c", "two", "1")


@pytest.mark.usefixtures("synth")
def test_a_missing_bundle_is_refused_by_the_cli_only(tmp_path: Path) -> None:
    """The template can be read without a build, but what the CLI runs ends before a function without code reaches AWS."""
    from infra.app import build_app, require_bundles

    app = build_app({"assets": str(tmp_path / "empty")}, outdir=str(tmp_path / "out"))
    with pytest.raises(SystemExit, match=r"python -m infra\.bundle dev"):
        require_bundles(app)
    assert "ZipFile" in json.dumps(app.synth().stacks[0].template)


@pytest.mark.usefixtures("synth")
def test_a_finding_of_nag_fails_the_synthesis(assets: Path, tmp_path: Path) -> None:
    """cdk-nag is on in `build_app` itself: a bucket without TLS does not get through."""
    from infra.app import build_app

    app = build_app({"assets": str(assets)}, outdir=str(tmp_path))
    from aws_cdk import Stack, aws_s3

    stack = app.node.find_child("agents")
    assert isinstance(stack, Stack)
    aws_s3.Bucket(stack, "Careless")
    with pytest.raises(RuntimeError, match="AwsSolutions-S10"):
        app.synth()


@pytest.mark.long
def test_the_cli_sees_the_same_template_under_strict_validation(synth: Synth, assets: Path, tmp_path: Path) -> None:
    """`python -m infra.app` as the CDK CLI starts it, with CloudFormation's own schema checks as errors, gives the tests' template."""
    context = json.dumps(project_context() | {"assets": str(assets)})
    cli = {"CDK_OUTDIR": str(tmp_path), "CDK_CONTEXT_JSON": context, "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"}
    environment = {key: value for key, value in os.environ.items() if key != "CDK_VALIDATION"} | cli
    done = subprocess.run([sys.executable, "-m", "infra.app"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "agents.template.json").read_text(encoding="utf-8")) == synth()
    assert project_context()["@aws-cdk/core:strictCfnValidateErrors"] is True
