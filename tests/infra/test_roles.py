"""What the role of each function may do, and nothing beyond it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from botocore.session import get_session

from functions.runs.continuing import TAKEN_ON_WITHIN
from infra.deployment import DEPLOYABLE, ROOT
from tests.infra.templates import Synth, Template, actions, properties, resources, variables

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]

# Upkeep (an operator's own rights) and creation (CDK's), never part of a run.
NOT_AT_RUN_TIME = {"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive", "Scan"}
CLAUDE = "anthropic.claude-sonnet-4-20250514-v1:0"
BEDROCK_MODEL = f"bedrock_converse:{CLAUDE}"
TITAN = "amazon.titan-embed-text-v2:0"


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_a_role_may_do_what_the_store_calls(synth: Synth, agent: str) -> None:
    """The actions are exactly the DynamoDB operations that the store's source names, and the bucket's four: no more, no wildcard."""
    operations = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): name for name in get_session().get_service_model("dynamodb").operation_names
    }
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "functions" / "store").glob("*.py"))
    called = {operations[name] for name in re.findall(r"client\.([a-z_]+)", source) if name in operations}
    granted = actions(synth(), agent)
    assert granted["dynamodb"] == called - NOT_AT_RUN_TIME
    assert granted["s3"] == {"GetObject", "PutObject", "DeleteObject", "ListBucket"}
    assert granted["logs"] == {"CreateLogStream", "PutLogEvents"}
    assert set(granted) == {"dynamodb", "s3", "logs"}
    role = properties(synth(), "AWS::IAM::Role", f"agents/{agent}/")
    assert "ManagedPolicyArns" not in role


def test_a_role_reaches_its_folders_of_the_bucket(synth: Synth) -> None:
    """Payloads: everybody; knowledge: written by the agent whose URL imports it, read by those that search it, and nobody lists or touches
    anything else."""

    def folders(agent: str) -> dict[str, set[str]]:
        statements = properties(synth(), "AWS::IAM::Policy", f"agents/{agent}/Role")["PolicyDocument"]["Statement"]
        found: dict[str, set[str]] = {}
        for statement in statements:
            doing = {action.removeprefix("s3:") for action in _listed(statement["Action"]) if action.startswith("s3:")}
            if doing and doing != {"ListBucket"}:
                found |= {resource["Fn::Join"][1][1]: doing for resource in _listed(statement["Resource"])}
        return found

    everything = {"DeleteObject", "GetObject", "PutObject"}
    payloads = {"/agents-checkpoints/*": everything}
    assert folders("kb") == payloads | {"/agents-knowledge/*": everything}
    for agent in ("reactAgent", "dev"):
        assert folders(agent) == payloads | {"/agents-knowledge/*": {"GetObject"}}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _invocable(template: Template, agent: str) -> list[Any]:
    """Resources of the one statement about Bedrock, of which the actions are checked here."""
    statements = properties(template, "AWS::IAM::Policy", f"agents/{agent}/Role")["PolicyDocument"]["Statement"]
    (only,) = [s for s in statements if "bedrock:InvokeModel" in s["Action"]]
    assert only["Action"] == ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
    return _listed(only["Resource"])


def test_the_embedding_model_may_be_invoked_where_there_is_knowledge(synth: Synth) -> None:
    """Beside the chat model, by the agents that search."""
    allowed = _invocable(synth(model=BEDROCK_MODEL, embeddings=f"bedrock:{TITAN}"), "kb")
    assert {resource["Fn::Join"][1][-1] for resource in allowed} == {f"::foundation-model/{name}" for name in (CLAUDE, TITAN)}


ACCOUNT, PARTITION, REGION = {"Ref": "AWS::AccountId"}, {"Ref": "AWS::Partition"}, {"Ref": "AWS::Region"}
INVOCABLE: dict[str, tuple[str, list[Any]]] = {
    "a model of the region": (BEDROCK_MODEL, [["arn:", PARTITION, ":bedrock:", REGION, f"::foundation-model/{CLAUDE}"]]),
    "a profile over regions": (
        f"bedrock:us.{CLAUDE}",
        [
            ["arn:", PARTITION, ":bedrock:", REGION, ":", ACCOUNT, f":inference-profile/us.{CLAUDE}"],
            ["arn:", PARTITION, f":bedrock:*::foundation-model/{CLAUDE}"],
        ],
    ),
}


@pytest.mark.parametrize(("model", "expected"), INVOCABLE.values(), ids=INVOCABLE)
def test_a_bedrock_model_may_be_invoked_and_no_other(synth: Synth, model: str, expected: list[Any]) -> None:
    """The role is the key: both ways to invoke, on the model's own ARNs; a profile's model in each region that it may choose."""
    template = synth(model=model)
    assert [resource["Fn::Join"][1] for resource in _invocable(template, "reactAgent")] == expected


def test_a_bedrock_model_may_be_named_by_its_arn(synth: Synth) -> None:
    """Of an application's own profile, or of throughput that was bought."""
    arn = "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc"
    assert _invocable(synth(model=f"bedrock_converse:{arn}"), "reactAgent") == [arn]


SECRET_ARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:openai-AbCdEf"


def test_a_function_may_send_itself_an_event_and_no_other(synth: Synth) -> None:
    """Its own alias alone; Lambda tries such an event for no longer than its run's lease lasts, and does not take the chain for a loop."""
    template = synth()
    for agent in DEPLOYABLE:
        (policy,) = (p["Properties"] for p in resources(template, "AWS::IAM::Policy", f"agents/{agent}/GoOn"))
        (alias,) = (name for name, one in template["Resources"].items() if one["Type"] == "AWS::Lambda::Alias" and name.startswith(agent))
        assert policy["PolicyDocument"]["Statement"] == [{"Action": "lambda:InvokeFunction", "Effect": "Allow", "Resource": {"Ref": alias}}]
        (function,) = (p["Properties"] for p in resources(template, "AWS::Lambda::Function", f"agents/{agent}/Function"))
        assert function["RecursiveLoop"] == "Allow"
    configured = [one["Properties"] for one in resources(template, "AWS::Lambda::EventInvokeConfig")]
    assert {one["MaximumEventAgeInSeconds"] for one in configured} == {int(TAKEN_ON_WITHIN)}
    assert len(configured) == len(DEPLOYABLE)


def test_a_role_may_read_its_secrets_and_no_others(synth: Synth) -> None:
    """By exact ARN; of a secret known by its name, the six characters that AWS adds may be any. Only names are in the environment."""
    secrets = {"OPENAI_API_KEY": SECRET_ARN, "ANTHROPIC_API_KEY": "team/anthropic", "TUSHARE": "/agents/tushare"}
    template = synth(model="openai:gpt-5", secrets=secrets)
    statements = properties(template, "AWS::IAM::Policy", "agents/dev/Role")["PolicyDocument"]["Statement"]
    read = {s["Action"]: s["Resource"] for s in statements if s["Action"] in ("secretsmanager:GetSecretValue", "ssm:GetParameter")}
    named = ["arn:", PARTITION, ":secretsmanager:", REGION, ":", ACCOUNT, ":secret:team/anthropic-??????"]
    assert read["secretsmanager:GetSecretValue"] == [SECRET_ARN, {"Fn::Join": ["", named]}]
    assert read["ssm:GetParameter"]["Fn::Join"][1] == ["arn:", PARTITION, ":ssm:", REGION, ":", ACCOUNT, ":parameter/agents/tushare"]
    told = variables(template, "dev")
    assert json.loads(told["AGENTS_SECRETS"]) == secrets
    assert not told.keys() & secrets.keys()
    assert "AGENTS_SECRETS" not in variables(synth(), "dev")


def test_secrets_under_keys_of_ones_own_can_be_decrypted(synth: Synth) -> None:
    """Those keys alone, and only where Secrets Manager or Parameter Store of the key's region asks for the role."""
    keys = [f"arn:aws:kms:{region}:123456789012:key/0a1b-{number}" for region in ("eu-west-1", "us-east-1") for number in (1, 2)]
    template = synth(model="openai:gpt-5", secrets={"OPENAI_API_KEY": SECRET_ARN}, kms_keys=",".join(keys))
    statements = properties(template, "AWS::IAM::Policy", "agents/dev/Role")["PolicyDocument"]["Statement"]
    (only,) = [statement for statement in statements if "kms" in json.dumps(statement["Action"])]
    assert (only["Action"], only["Resource"]) == ("kms:Decrypt", keys)
    assert [*only["Condition"], *only["Condition"]["StringEquals"]] == ["StringEquals", "kms:ViaService"]
    services = only["Condition"]["StringEquals"]["kms:ViaService"]
    assert [service["Fn::Join"][1][0] for service in services] == [
        f"{service}.{region}." for region in ("eu-west-1", "us-east-1") for service in ("secretsmanager", "ssm")
    ]
    assert "kms" not in actions(synth(), "dev")
