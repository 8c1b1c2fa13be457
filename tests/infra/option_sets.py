"""What a deployment may choose, as sets that between them turn every option on and off, and what cdk-nag and CloudFormation's schemas say
of each: `python -m tests.infra.option_sets` prints it. The last row is a control: a stack that both have to find fault with.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from graphs.catalog import AGENTS
from tests.infra.conftest import fake_bundles

if TYPE_CHECKING:
    import aws_cdk as cdk
    from aws_cdk import Stack

KEY = "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d-0000-0000-0000-0a1b2c3d4e5f"
SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:openai-AbCdEf"
TOKENS = {"auth": "jwt", "jwt_issuer": "https://id.example", "jwt_audience": "agents"}
DOMAIN = {"domain": "agents.example.com", "certificate": "arn:aws:acm:us-east-1:123456789012:certificate/0a1b", "hosted_zone": "Z0123ABC"}
LAYER = "arn:aws:lambda:us-east-1:123456789012:layer:otel:1"
IMAGE = {"claudeAgent": "123456789012.dkr.ecr.us-east-1.amazonaws.com/agents:1"}
EXTRA = {"AGENTS_EVENTS_HOURS": "1", "LANGSMITH_PROJECT": "agents"}
OPTION_SETS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "open, gone with the stack": {
        "auth": "none",
        "removal": "destroy",
        "cors_origins": "https://a.example",
        "ttl_days": 7,
        "environment": EXTRA,
    },
    "tokens, secrets, their key": {**TOKENS, "model": "openai:gpt-5", "secrets": {"OPENAI_API_KEY": SECRET}, "kms_keys": KEY},
    "Bedrock, snapshots, sizes": {
        "model": "bedrock_converse:us.anthropic.claude-sonnet-4-20250514-v1:0",
        "embeddings": "bedrock:amazon.titan-embed-text-v2:0",
        "snap_start": True,
        "memory": {"dev": 512},
        "timeout": 60,
        "reserved_concurrency": 5,
        "alarm_topic": "arn:aws:sns:us-east-1:123456789012:ops",
        "retention_days": 365,
    },
    "page, open": {"site": True, "auth": "none", "removal": "destroy"},
    "page, tokens, domain, zone": {"site": True, **TOKENS, **DOMAIN},
    "image that Docker builds": {"agents": list(AGENTS)},
    "everything at once": {
        "agents": list(AGENTS),
        "images": IMAGE,
        "site": True,
        **TOKENS,
        **DOMAIN,
        "model": "anthropic:claude-sonnet-4",
        "secrets": {"ANTHROPIC_API_KEY": SECRET, "TUSHARE_TOKEN": "/agents/tushare"},
        "kms_keys": KEY,
        "snap_start": True,
        "reserved_concurrency": {"claudeAgent": 2},
        "tracing": "xray",
        "layers": LAYER,
        "alarm_topic": "arn:aws:sns:us-east-1:123456789012:ops",
    },
}


@dataclass(frozen=True, slots=True)
class Judged:
    """Of one set: what is wrong (`judge: rule at construct`), and how often each rule was acknowledged."""

    findings: tuple[str, ...]
    acknowledged: Counter[str]


def judge(context: dict[str, Any], assets: Path, outdir: Path, spoil: Callable[[cdk.App], None] | None = None) -> Judged:
    """Synthesises with strict validation on, whatever that finds; `spoil` may change the app before."""
    from infra.app import build_app

    app = build_app({"assets": str(assets)} | context, outdir=str(outdir))
    if spoil:
        spoil(app)
    try:
        app.synth()
    except RuntimeError:
        if not (outdir / "validation-report.json").exists():
            raise
    reports = json.loads((outdir / "validation-report.json").read_text(encoding="utf-8"))["pluginReports"]
    findings = [
        f"{report['pluginName']}: {found['ruleName']} at {construct['constructPath']}"
        for report in reports
        for found in report["violations"]
        for construct in found["violatingConstructs"]
    ]
    acknowledged = Counter(found["ruleName"].partition("[")[0] for report in reports for found in report.get("suppressedViolations", ()))
    return Judged(tuple(findings), acknowledged)


def careless(app: cdk.App) -> None:
    """A bucket that answers without TLS, and a mode that no function URL has."""
    from aws_cdk import CfnResource, aws_s3

    stack = cast("Stack", app.node.find_child("agents"))
    aws_s3.Bucket(stack, "Careless")
    CfnResource(stack, "Url", type="AWS::Lambda::Url", properties={"TargetFunctionArn": "f", "AuthType": "NONE", "InvokeMode": "SOMETIMES"})


def _tell(name: str, judged: Judged) -> None:
    told = ", ".join(f"{rule.removeprefix('AwsSolutions-')} × {count}" for rule, count in sorted(judged.acknowledged.items()))
    print(f"{name:<28} {len(judged.findings)} findings; acknowledged: {told or 'none'}", flush=True)
    for finding in judged.findings:
        print(f"  {finding}")


def main() -> int:
    """Exit code 1 where a set has a finding, or the control has none by one of the two."""
    # Node reads it when it starts
    os.environ["JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"] = "20"
    os.environ.pop("CDK_VALIDATION", None)
    with tempfile.TemporaryDirectory() as scratch:
        assets = fake_bundles(Path(scratch) / "assets")
        clean = True
        for number, (name, context) in enumerate(OPTION_SETS.items()):
            judged = judge(context, assets, Path(scratch) / str(number))
            clean &= not judged.findings
            _tell(name, judged)
        control = judge({"agents": "dev"}, assets, Path(scratch) / "control", careless)
        _tell("control: a careless stack", control)
    judges = {finding.partition(":")[0] for finding in control.findings}
    return 0 if clean and judges == {"AwsSolutions", "CloudFormation Validate"} else 1


if __name__ == "__main__":
    sys.exit(main())
