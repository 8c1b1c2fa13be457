"""What CloudFront does to a request on its way to a function URL: our request function, run in Node, then its signature."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from botocore.auth import EMPTY_SHA256_HASH, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from infra.site import PAGE_REQUEST_CODE, REQUEST_CODE
from infra.toolchain import use_node

__all__ = ["PAGE_REQUEST_CODE", "REQUEST_CODE", "at_the_edge", "signed_by_cloudfront"]

_RUN = """
const { code, events } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const handler = new Function(`${code}; return handler;`)();
process.stdout.write(JSON.stringify(events.map(handler)));
"""
FUNCTION_HOST = "abc123.lambda-url.eu-west-1.on.aws"


def at_the_edge(*requests: dict[str, Any], code: Path = REQUEST_CODE) -> list[dict[str, Any]]:
    """`{method, uri, headers: {name: value}}` each → the same as the request function leaves it."""
    use_node()
    events = [{"request": {**one, "headers": {name: {"value": value} for name, value in one["headers"].items()}}} for one in requests]
    told = json.dumps({"code": code.read_text(encoding="utf-8"), "events": events})
    done = subprocess.run([shutil.which("node") or "node", "-e", _RUN], input=told, capture_output=True, text=True, check=True, timeout=60)
    return [{**one, "headers": {name: header["value"] for name, header in one["headers"].items()}} for one in json.loads(done.stdout)]


def signed_by_cloudfront(method: str, uri: str, headers: dict[str, str], secret: str, *, region: str) -> dict[str, str]:
    """The headers that the function URL gets. CloudFront reads no body: it signs the hash that the viewer sent, or that of nothing."""
    hashed = {"x-amz-content-sha256": headers.get("x-amz-content-sha256", EMPTY_SHA256_HASH)}
    request = AWSRequest(method, f"https://{FUNCTION_HOST}{uri}", headers={"host": FUNCTION_HOST, **hashed})
    SigV4Auth(Credentials("ASIACLOUDFRONT", secret), "lambda", region).add_auth(request)
    return {**headers, **{name.lower(): value for name, value in request.headers.items()}}
