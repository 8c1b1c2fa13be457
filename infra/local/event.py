"""An HTTP request → the event a function URL makes of it: payload format 2.0.

https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads
"""

from __future__ import annotations

import base64
import re
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

_TEXT = re.compile(r"text/.*|application/(.+\+)?json|application/(.+\+)?xml|application/(javascript|ecmascript)")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it came in; `path` and `query` raw (percent-encoded), header names in any case, repeated ones repeated."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    client: str = "127.0.0.1"
    protocol: str = "HTTP/1.1"
    port: int = 80
    scheme: str = "http"


def to_event(request: HttpRequest) -> dict[str, Any]:
    """The payload v2.0 event of `request`. Absent parts are absent keys, as AWS leaves them out."""
    headers = _headers(request)
    now = time.time()
    domain = headers.get("host", "")
    request_id = str(uuid.uuid4())
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "local",
            "domainName": domain,
            "domainPrefix": domain.split(".")[0].split(":")[0],
            "http": {
                "method": request.method,
                "path": request.path,
                "protocol": request.protocol,
                "sourceIp": request.client,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": "$default",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies := _cookies(request):
        event["cookies"] = cookies
    if query := _joined(parse_qsl(request.query, keep_blank_values=True)):
        event["queryStringParameters"] = query
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request.body, headers)
    return event


def _headers(request: HttpRequest) -> dict[str, str]:
    headers = _joined((name.lower(), value) for name, value in request.headers if name.lower() != "cookie")
    # what AWS's edge adds, over whatever the client claims
    return headers | {
        "x-forwarded-for": request.client,
        "x-forwarded-port": str(request.port),
        "x-forwarded-proto": request.scheme,
    }


def _cookies(request: HttpRequest) -> list[str]:
    sent = "; ".join(value for name, value in request.headers if name.lower() == "cookie")
    return [cookie.strip() for cookie in sent.split(";") if cookie.strip()]


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Repeated names joined with commas, as payload format 2.0 has no multi-value fields."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes, headers: dict[str, str]) -> tuple[str, bool]:
    """(body, whether it is base64): plain only if it says that it is text, is not compressed, and is valid UTF-8."""
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    if _TEXT.fullmatch(kind) and "content-encoding" not in headers:
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            return base64.b64encode(body).decode(), True
    return base64.b64encode(body).decode(), True
