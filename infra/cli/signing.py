"""What a function URL is sent beside the request: the body's hash, and a proof of who is calling, which is SigV4 with the credentials that
the AWS tools use, or a bearer token."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator

import httpx

_FUNCTION_URL = re.compile(r".+\.lambda-url\.([a-z0-9-]+)\.on\.aws")


HASH = "x-amz-content-sha256"


def hash_body(request: httpx.Request) -> None:
    """An event hook for httpx. Lambda takes no unsigned body, and CloudFront before it signs this header instead of reading one."""
    if request.content:
        request.headers[HASH] = hashlib.sha256(request.content).hexdigest()


class SigV4(httpx.Auth):
    """Signs each request for Lambda in `region`."""

    requires_request_body = True

    def __init__(self, region: str) -> None:
        self._region = region

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.session import Session

        credentials = Session().get_credentials()
        if credentials is not None:
            hashed = {HASH: hashlib.sha256(request.content).hexdigest()}
            signed = AWSRequest(request.method, str(request.url), headers=hashed, data=request.content)
            SigV4Auth(credentials, "lambda", self._region).add_auth(signed)
            request.headers.update(dict(signed.headers.items()))
        yield request


class Bearer(httpx.Auth):
    """Sends the token that a deployment with auth `jwt` asks for."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["authorization"] = f"Bearer {self._token}"
        yield request


def signer_for(host: str) -> SigV4 | None:
    """A signer for a function URL's host name; None for any other."""
    match = _FUNCTION_URL.fullmatch(host)
    return SigV4(match[1]) if match else None
