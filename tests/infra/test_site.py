"""The template with `site`: who may call what, what is cached, what is sent along."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from functions.settings import Settings
from infra.deployment import DEPLOYABLE, ROOT
from tests.infra.templates import Synth, Template, properties, resources, variables

pytestmark = [pytest.mark.infra, pytest.mark.timeout(300)]

OPEN = {"site": True, "auth": "none"}
TOKENS = {"site": True, "auth": "jwt", "jwt_issuer": "https://id.example", "jwt_audience": "agents"}
DOMAIN = {"domain": "agents.example.com", "certificate": "arn:aws:acm:us-east-1:123456789012:certificate/0a1b"}
PAGE = ROOT / "functions" / "web" / "page"
# https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-cache-policies.html, …-origin-request-policies.html
CACHING_DISABLED, ALL_BUT_HOST = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad", "b689b0a8-53d0-40ab-baf2-68738e2966ac"


def distribution(template: Template) -> dict[str, Any]:
    found: dict[str, Any] = properties(template, "AWS::CloudFront::Distribution")["DistributionConfig"]
    return found


def behaviours(template: Template) -> dict[str, dict[str, Any]]:
    return {one["PathPattern"]: one for one in distribution(template)["CacheBehaviors"]}


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_an_agent_is_called_through_cloudfront_alone(synth: Synth, agent: str) -> None:
    """Its URL asks for a signature, and the only one who has the right to make one is this distribution, by both permissions."""
    for context in (OPEN, TOKENS):
        template = synth(**context)
        url = properties(template, "AWS::Lambda::Url", f"agents/{agent}/")
        assert (url["AuthType"], url["InvokeMode"]) == ("AWS_IAM", "RESPONSE_STREAM")
        (reference,) = [key for key, one in template["Resources"].items() if one.get("Properties") == url]
        granted = [one["Properties"] for one in resources(template, "AWS::Lambda::Permission") if reference in str(one)]
        assert {one["Action"] for one in granted} == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
        assert {one["Principal"] for one in granted} == {"cloudfront.amazonaws.com"}
        (site,) = [key for key, one in template["Resources"].items() if one["Type"] == "AWS::CloudFront::Distribution"]
        account = {"Ref": "AWS::AccountId"}
        arn = ["arn:", {"Ref": "AWS::Partition"}, ":cloudfront::", account, ":distribution/", {"Ref": site}]
        assert [one["SourceArn"]["Fn::Join"][1] for one in granted] == [arn, arn]
        assert variables(template, agent)["AGENTS_AUTH"] == context["auth"]


def test_there_is_no_other_permission(synth: Synth) -> None:
    """Two an agent; nothing is open to everybody, though auth none alone would open the URLs."""
    granted = [one["Properties"] for one in resources(synth(**OPEN), "AWS::Lambda::Permission")]
    assert len(granted) == 2 * len(DEPLOYABLE)
    assert "*" not in {one["Principal"] for one in granted}


@pytest.mark.parametrize("agent", DEPLOYABLE)
def test_a_stream_passes_as_it_is_made(synth: Synth, agent: str) -> None:
    """Not compressed, not cached, every method, every header but Host, the request function before it, and as much patience as the
    quota has: a stream says something every ten seconds."""
    template = synth(**OPEN)
    one = behaviours(template)[f"agents/{agent}/*"]
    assert (one["Compress"], one["CachePolicyId"], one["OriginRequestPolicyId"]) == (False, CACHING_DISABLED, ALL_BUT_HOST)
    assert set(one["AllowedMethods"]) == {"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"}
    assert one["ViewerProtocolPolicy"] == "https-only"
    assert [function["EventType"] for function in one["FunctionAssociations"]] == ["viewer-request"]
    (origin,) = [each for each in distribution(template)["Origins"] if each["Id"] == one["TargetOriginId"]]
    assert origin["CustomOriginConfig"]["OriginReadTimeout"] == 120
    assert "ResponseCompletionTimeout" not in origin, "it would cut long runs"
    heartbeat = Settings.model_fields["heartbeat_seconds"].default
    assert heartbeat * 3 < origin["CustomOriginConfig"]["OriginReadTimeout"]
    (url,) = [key for key, value in template["Resources"].items() if value["Type"] == "AWS::Lambda::Url" and key.startswith(f"{agent}F")]
    assert url in json.dumps(origin["DomainName"])


def test_one_callers_error_is_not_anothers(synth: Synth) -> None:
    """CloudFront keeps errors for ten seconds by itself, by path alone; and it changes none, or an agent's 404 would be a page."""
    errors = distribution(synth(**OPEN))["CustomErrorResponses"]
    assert {one["ErrorCode"] for one in errors} >= {400, 403, 404, 405, 500, 502, 503, 504}
    assert {json.dumps({**one, "ErrorCode": 0}) for one in errors} == {'{"ErrorCachingMinTTL": 0, "ErrorCode": 0}'}


def test_both_kinds_of_origin_are_signed_for(synth: Synth) -> None:
    """`always`: with no-override a viewer's own Authorization would go through unsigned, and be refused by the URL."""
    template = synth(**OPEN)
    controls = {
        key: one["Properties"]["OriginAccessControlConfig"] for key, one in template["Resources"].items() if "AccessControl" in one["Type"]
    }
    assert {(one["OriginAccessControlOriginType"], one["SigningBehavior"], one["SigningProtocol"]) for one in controls.values()} == {
        ("s3", "always", "sigv4"),
        ("lambda", "always", "sigv4"),
    }
    used = {each["OriginAccessControlId"]["Fn::GetAtt"][0] for each in distribution(template)["Origins"]}
    assert used == set(controls)
    # names are the account's: in another region the same stack needs others
    named = [one["Name"] for one in controls.values()]
    named += [
        one["Properties"]["ResponseHeadersPolicyConfig"]["Name"] for one in resources(template, "AWS::CloudFront::ResponseHeadersPolicy")
    ]
    assert all({"Ref": "AWS::Region"} in name["Fn::Join"][1] for name in named)


def test_the_pages_bucket_is_read_by_the_distribution_alone(synth: Synth) -> None:
    """Private, TLS only, gone with the stack; the payloads' bucket is in no origin."""
    template = synth(**OPEN)
    (bucket,) = resources(template, "AWS::S3::Bucket", "agents/Site/")
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["DeletionPolicy"] == "Delete"
    statements = properties(template, "AWS::S3::BucketPolicy", "agents/Site/")["PolicyDocument"]["Statement"]
    (allowed,) = [one for one in statements if one["Effect"] == "Allow"]
    assert (allowed["Action"], allowed["Principal"]) == ("s3:GetObject", {"Service": "cloudfront.amazonaws.com"})
    assert "AWS:SourceArn" in allowed["Condition"]["StringEquals"]
    assert sum("s3" in json.dumps(origin).lower() for origin in distribution(template)["Origins"]) == 1


def test_the_page_is_sent_with_its_policy(synth: Synth) -> None:
    """That of its own HTML, narrowed to its own origin and out of frames; HSTS, no sniffing, no referrer, on the agents too."""
    policies = {
        one["Metadata"]["aws:cdk:path"].split("/")[-2]: one["Properties"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]
        for one in resources(synth(**OPEN), "AWS::CloudFront::ResponseHeadersPolicy")
    }
    csp = policies["PageHeaders"].pop("ContentSecurityPolicy")["ContentSecurityPolicy"].split("; ")
    (own,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', (PAGE / "index.html").read_text(encoding="utf-8"))
    assert {rule for rule in own.split("; ") if not rule.startswith("connect-src")} == set(csp) - {
        "connect-src 'self'",
        "frame-ancestors 'none'",
    }
    assert {"connect-src 'self'", "frame-ancestors 'none'"} <= set(csp)
    assert policies["PageHeaders"] == policies["AgentHeaders"]
    assert set(policies["PageHeaders"]) == {"ContentTypeOptions", "FrameOptions", "ReferrerPolicy", "StrictTransportSecurity"}


@pytest.mark.parametrize("context", [OPEN, TOKENS], ids=["none", "jwt"])
def test_config_json_lists_the_agents_where_they_are(context: dict[str, Any], assets: Path, tmp_path: Path) -> None:
    """Relative to the page, so any domain does; with a token where one is asked for. The page's files are beside it."""
    from infra.app import build_app

    template = build_app({"assets": str(assets), **context}, outdir=str(tmp_path)).synth().stacks[0].template
    files = properties(template, "Custom::CDKBucketDeployment")
    assert files["SystemMetadata"] == {"cache-control": "no-cache"}
    assert (files["Prune"], files["RetainOnDelete"]) == (True, False)
    folders = [tmp_path / f"asset.{key.removesuffix('.zip')}" for key in files["SourceObjectKeys"]]
    (config,) = [json.loads((folder / "config.json").read_text("utf-8")) for folder in folders if (folder / "config.json").exists()]
    assert [(one["name"], one["url"]) for one in config["agents"]] == [(agent, f"agents/{agent}/") for agent in DEPLOYABLE]
    assert {one.get("auth") for one in config["agents"]} == {"jwt" if context["auth"] == "jwt" else None}
    uploaded = {path.relative_to(folder) for folder in folders for path in folder.rglob("*") if path.is_file()}
    assert uploaded == {path.relative_to(PAGE) for path in PAGE.rglob("*") if path.is_file()} | {Path("config.json")}


def test_outputs_are_cloudfronts_addresses(synth: Synth) -> None:
    """The page, and each agent by its name: the function's own address would refuse everybody."""
    outputs = synth(**OPEN)["Outputs"]
    (site,) = [key for key, one in synth(**OPEN)["Resources"].items() if one["Type"] == "AWS::CloudFront::Distribution"]
    host = {"Fn::GetAtt": [site, "DomainName"]}
    assert outputs["pageUrl"]["Value"] == {"Fn::Join": ["", ["https://", host, "/"]]}
    for agent in DEPLOYABLE:
        assert outputs[f"{agent}Url"]["Value"] == {"Fn::Join": ["", ["https://", host, f"/agents/{agent}/"]]}


def test_a_domain_of_ones_own(synth: Synth) -> None:
    """Its name, its certificate, TLS 1.2 or newer; records for IPv4 and IPv6 where the zone is given, and none where it is not."""
    template = synth(**OPEN, **DOMAIN, hosted_zone="Z0123ABC")
    config = distribution(template)
    assert config["Aliases"] == [DOMAIN["domain"]]
    certificate = config["ViewerCertificate"]
    assert (certificate["AcmCertificateArn"], certificate["MinimumProtocolVersion"]) == (DOMAIN["certificate"], "TLSv1.2_2021")
    records = {one["Properties"]["Type"]: one["Properties"] for one in resources(template, "AWS::Route53::RecordSet")}
    assert {(kind, one["Name"], one["HostedZoneId"]) for kind, one in records.items()} == {
        (kind, f"{DOMAIN['domain']}.", "Z0123ABC") for kind in ("A", "AAAA")
    }
    assert all(one["AliasTarget"]["DNSName"]["Fn::GetAtt"][1] == "DomainName" for one in records.values())
    assert template["Outputs"]["pageUrl"]["Value"] == f"https://{DOMAIN['domain']}/"
    assert resources(synth(**OPEN, **DOMAIN), "AWS::Route53::RecordSet") == []


def test_without_a_site_nothing_of_it_is_there(synth: Synth) -> None:
    """No distribution, no second bucket, no function but the agents."""
    kinds = {one["Type"] for one in synth()["Resources"].values()}
    assert not {kind for kind in kinds if "CloudFront" in kind or kind.startswith(("Custom::", "AWS::Route53"))}
    added = len(resources(synth(**OPEN), "AWS::Lambda::Function")) - len(resources(synth(), "AWS::Lambda::Function"))
    assert added == 1, "CDK's own, that puts the page's files on the bucket"
