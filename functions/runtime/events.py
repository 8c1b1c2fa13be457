"""An event of a function URL, API Gateway or a load balancer → an ASGI scope and a body, by Mangum's handlers.

Mangum trusts its events; a URL that anybody may call cannot. What would crash a handler is mended first or answered as 400.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from mangum.handlers import ALB, APIGateway, HTTPGateway
from mangum.types import LambdaConfig, LambdaContext, LambdaHandler, Scope

from functions import own_event
from functions.runtime.context import LambdaContext as Context

CONFIG: LambdaConfig = {"api_gateway_base_path": "/", "text_mime_types": [], "exclude_headers": []}
ASGI_VERSION = {"version": "3.0", "spec_version": "2.4"}
"""Mangum says 2.0. With that a Starlette stream listens for a disconnect and is cut after its first chunk."""
HANDLERS: tuple[type[LambdaHandler], ...] = (ALB, HTTPGateway, APIGateway)
SERVER_HEADERS = ("host", "x-forwarded-port", "x-forwarded-proto")
"""Headers Mangum parses to find the server, and trips over (`[::1]:80`, `a:b`): kept away from it, read here."""
PORTS = {"http": 80, "https": 443}


class NotHttpEvent(Exception):
    """The event comes from no HTTP source: SQS, a schedule, a test in the console."""


class BadRequest(Exception):
    """The request in the event cannot be read: it is answered with 400."""


def asgi_scope(event: Any, context: Context) -> tuple[Scope, bytes]:
    """One event → `(scope, body)`. Raises `NotHttpEvent` or `BadRequest`.

    The scope has the event and the context at `aws.event` and `aws.context`; `client` is None if the source address is unknown.
    """
    if isinstance(event, dict) and event.keys() == {own_event.KEY}:
        return _own_scope(event, context), b""
    handler = _handler(event)
    if handler is None:
        raise NotHttpEvent("the event is not from a function URL, API Gateway or a load balancer")
    try:
        mended, hidden = _mend(event)
        reader = handler(mended, cast(LambdaContext, context), CONFIG)
        scope, body = reader.scope, _body(reader, mended)
        _complete(scope, hidden, event)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise BadRequest(f"the request cannot be read: {type(exc).__name__}: {exc}") from exc
    return scope, body


def _own_scope(event: Mapping[str, Any], context: Context) -> Scope:
    """Of an event that the function has sent to itself."""
    return {
        "type": "http",
        "asgi": dict(ASGI_VERSION),
        "http_version": "1.1",
        "method": "POST",
        "scheme": "https",
        "path": own_event.PATH,
        "raw_path": own_event.PATH.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [],
        "client": None,
        "server": ("localhost", 443),
        "aws.event": event,
        "aws.context": context,
        own_event.SCOPE: event[own_event.KEY],
    }


def _handler(event: Any) -> type[LambdaHandler] | None:
    """Mangum's handler for an HTTP event. Its own test takes any event with the right two keys, so the method is looked for too."""
    if not isinstance(event, dict) or not isinstance(event.get("requestContext"), dict):
        return None
    http = event["requestContext"].get("http")
    method = http.get("method") if isinstance(http, dict) else event.get("httpMethod")
    if not isinstance(method, str):
        return None
    return next((handler for handler in HANDLERS if handler.infer(event, cast(LambdaContext, None), CONFIG)), None)


def _mend(event: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A copy of the event that Mangum can read, and the headers that were taken out of it."""
    headers, hidden = _split(event.get("headers"))
    mended = {**event, "headers": headers}
    if "multiValueHeaders" in event:
        several, hidden_lists = _split(event["multiValueHeaders"])
        hidden |= {name: values[-1] if isinstance(values, list) and values else str(values) for name, values in hidden_lists.items()}
        mended["multiValueHeaders"] = {name: [str(value) for value in values or ()] for name, values in several.items()}
        if not several:
            del mended["multiValueHeaders"]
    mended["requestContext"] = _mend_source(event["requestContext"])
    return mended, hidden


def _mend_source(request_context: Mapping[str, Any]) -> dict[str, Any]:
    mended = {**request_context, "identity": request_context.get("identity") or {}}
    if isinstance(request_context.get("http"), dict):
        mended["http"] = {"sourceIp": None, **request_context["http"]}
    return mended


def _split(headers: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Headers that Mangum may see, and those it may not (lower-case names). Null values are dropped."""
    seen: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    for name, value in (headers or {}).items():
        if value is not None:
            (hidden if name.lower() in SERVER_HEADERS else seen)[name.lower()] = value
    return seen, hidden


def _body(reader: LambdaHandler, event: Mapping[str, Any]) -> bytes:
    if not event.get("isBase64Encoded"):
        return reader.body
    try:
        # Mangum's own decoding drops what is not base64; half a body is worse than none
        return base64.b64decode(event.get("body") or "", validate=True)
    except binascii.Error as exc:
        raise BadRequest(f"the body is not base64: {exc}") from exc


def _complete(scope: Scope, hidden: Mapping[str, str], event: Mapping[str, Any]) -> None:
    """Sets what Mangum got wrong or was not shown."""
    scope["asgi"] = dict(ASGI_VERSION)
    scope["aws.event"] = event
    scope["headers"] = [(bytes(name), bytes(value)) for name, value in scope["headers"]]
    scope["headers"] += [(name.encode(), value.encode()) for name, value in hidden.items()]
    proto = hidden.get("x-forwarded-proto", "https")
    scope["scheme"] = proto if proto in PORTS else "https"
    scope["server"] = _server(hidden, scope["scheme"])
    scope["client"] = scope["client"] if scope["client"][0] else None
    raw_path = event.get("rawPath")
    scope["raw_path"] = raw_path.encode() if isinstance(raw_path, str) else None


def _server(hidden: Mapping[str, str], scheme: str) -> tuple[str, int]:
    """Name and port as the client asked for them; a host that cannot be read is taken as it is."""
    host = hidden.get("host", "")
    port = hidden.get("x-forwarded-port", "")
    default = int(port) if port.isdecimal() and int(port) < 65536 else PORTS[scheme]
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname or host or "localhost", parts.port or default
    except ValueError:
        return host, default
