"""AWS Signature Version 4, verified as the service does it: written from the specification, without botocore.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, ?"
    r"SignedHeaders=(?P<signed>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
UNRESERVED = "-_.~"


class WrongSignature(Exception):
    """The service would answer 403; the text says why."""


def verify(method: str, target: str, headers: Mapping[str, str], body: bytes, secret: str, *, region: str, service: str = "lambda") -> None:
    """`target` is the path with its query as it went over the wire, `headers` have names in lower case.

    Raises `WrongSignature`: another signature, another scope, a body whose hash is not the signed `x-amz-content-sha256` (which Lambda
    behind CloudFront's origin access control needs), or an unsigned header that has to be signed.
    """
    given = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if given is None:
        raise WrongSignature("no SigV4 authorization")
    if (given["region"], given["service"]) != (region, service):
        raise WrongSignature(f"signed for {given['service']} in {given['region']}")
    signed = given["signed"].split(";")
    needed = {"host", "x-amz-content-sha256", "x-amz-date"} | ({"x-amz-security-token"} & headers.keys())
    if missing := needed - set(signed):
        raise WrongSignature(f"{', '.join(sorted(missing))} must be signed")
    if headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
        raise WrongSignature("the body is another")
    if not headers["x-amz-date"].startswith(given["date"]):
        raise WrongSignature("signed on another day")
    request = canonical_request(method, target, headers, signed)
    scope = f"{given['date']}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(request.encode()).hexdigest()])
    expected = hmac.new(signing_key(secret, given["date"], region, service), text.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, given["signature"]):
        raise WrongSignature(f"the canonical request is\n{request}")


def canonical_request(method: str, target: str, headers: Mapping[str, str], signed: list[str]) -> str:
    path, _, query = target.partition("?")
    # every service but S3 encodes the path, as it was sent, once more
    uri = quote(path, safe=f"/{UNRESERVED}")
    decoded = parse_qsl(query, keep_blank_values=True)
    pairs = sorted((quote(name, safe=UNRESERVED), quote(value, safe=UNRESERVED)) for name, value in decoded)
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in sorted(signed)]
    joined = "&".join(f"{name}={value}" for name, value in pairs)
    return "\n".join([method, uri, joined, *lines, "", ";".join(sorted(signed)), headers["x-amz-content-sha256"]])


def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
