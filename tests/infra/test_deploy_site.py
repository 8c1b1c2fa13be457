"""The page and its agents at one address, deployed to and destroyed in moto's account by the real CDK command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.deployment import DEPLOYABLE, ROOT
from tests.infra.deploying.account import ACCOUNT, REGION, Account, account

pytestmark = [pytest.mark.long, pytest.mark.infra, pytest.mark.timeout(300)]

CONTEXT = {"site": True, "auth": "jwt", "jwt_issuer": "https://id.example", "jwt_audience": "agents", "removal": "destroy"}
PAGE = ROOT / "functions" / "web" / "page"


@pytest.fixture(scope="module")
def deployed(assets: Path, tmp_path_factory: pytest.TempPathFactory, synth: object) -> Iterator[tuple[Account, dict[str, str], str]]:
    """The account, the outputs, the assembly."""
    from infra.app import build_app

    assembly = str(tmp_path_factory.mktemp("cdk"))
    build_app({"assets": str(assets)} | CONTEXT, outdir=assembly).synth()
    with account() as at:
        at.cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", assembly)
        yield at, at.deploy("--app", assembly), assembly


def _page_bucket(at: Account) -> str:
    (name,) = [one["Name"] for one in at.client("s3").list_buckets()["Buckets"] if "sitepage" in one["Name"]]
    return str(name)


def test_the_outputs_are_one_address(deployed: tuple[Account, dict[str, str], str]) -> None:
    """The page's, and every agent's below it."""
    _, outputs, _ = deployed
    page = outputs["pageUrl"]
    assert page.startswith("https://")
    assert page.endswith(".cloudfront.net/")
    assert {agent: outputs[f"{agent}Url"] for agent in DEPLOYABLE} == {agent: f"{page}agents/{agent}/" for agent in DEPLOYABLE}


def test_the_page_is_on_its_bucket(deployed: tuple[Account, dict[str, str], str]) -> None:
    """Every file as it is here, and the list of agents that ask for a token; none may be kept unasked."""
    at, _, _ = deployed
    s3, bucket = at.client("s3"), _page_bucket(at)
    keys = {one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]}
    assert keys == {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.is_file()} | {"config.json"}
    index = s3.get_object(Bucket=bucket, Key="index.html")
    assert index["Body"].read() == (PAGE / "index.html").read_bytes()
    assert (index["CacheControl"], index["ContentType"]) == ("no-cache", "text/html")
    config: dict[str, Any] = json.loads(s3.get_object(Bucket=bucket, Key="config.json")["Body"].read())
    assert {(one["name"], one["auth"]) for one in config["agents"]} == {(agent, "jwt") for agent in DEPLOYABLE}


def test_a_url_lets_the_distribution_in_and_nobody_else(deployed: tuple[Account, dict[str, str], str]) -> None:
    """Lambda's own words: the URL asks for a signature, and the alias's policy names CloudFront with the distribution that was made."""
    at, outputs, _ = deployed
    client = at.client("lambda")
    distribution = outputs["pageUrl"].removeprefix("https://").partition(".")[0].upper()
    for agent in DEPLOYABLE:
        (name,) = [
            one["FunctionName"] for one in client.list_functions()["Functions"] if one["FunctionName"].startswith(f"agents-{agent}F")
        ]
        assert client.get_function_url_config(FunctionName=name, Qualifier="live")["AuthType"] == "AWS_IAM"
        statements = json.loads(client.get_policy(FunctionName=name)["Policy"])["Statement"]
        assert {one["Action"] for one in statements} == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
        assert {json.dumps(one["Principal"]) for one in statements} == {'{"Service": "cloudfront.amazonaws.com"}'}
        arn = f"arn:aws:cloudfront::{ACCOUNT}:distribution/{distribution}"
        assert {one["Condition"]["ArnLike"]["AWS:SourceArn"] for one in statements} == {arn}


def test_destroy_takes_the_page_too(deployed: tuple[Account, dict[str, str], str]) -> None:
    """Its files go first, so its bucket can."""
    at, _, assembly = deployed
    bucket = _page_bucket(at)
    at.cdk("destroy", "--force", "--app", assembly)
    assert bucket not in [one["Name"] for one in at.client("s3").list_buckets()["Buckets"]]
    assert at.client("lambda").list_functions()["Functions"] == []
