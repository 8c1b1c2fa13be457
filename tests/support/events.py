"""Lambda events as AWS sends them, one builder a source."""

from __future__ import annotations

from typing import Any

CONTEXT_HEADERS = {"lambda-runtime-aws-request-id": "req-1", "lambda-runtime-deadline-ms": "9999999999999"}


def url_event(path: str = "/", method: str = "GET", body: Any = None, **changes: Any) -> dict[str, Any]:
    """A function URL's event (payload 2.0)."""
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": "abc.lambda-url.us-east-1.on.aws", "x-forwarded-proto": "https", "x-forwarded-port": "443"},
        "requestContext": {"http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "t"}},
        "isBase64Encoded": False,
    }
    return {**event, **({} if body is None else {"body": body}), **changes}


def rest_event(path: Any = "/", method: str = "GET", **changes: Any) -> dict[str, Any]:
    """An API Gateway REST event (payload 1.0)."""
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": {"Host": "api.example.com", "Accept": "a"},
        "multiValueHeaders": {"Host": ["api.example.com"], "Accept": ["a", "b"]},
        "queryStringParameters": {"q": "2"},
        "multiValueQueryStringParameters": {"q": ["1", "2"]},
        "requestContext": {"identity": {"sourceIp": "203.0.113.8"}},
        "body": None,
        "isBase64Encoded": False,
        **changes,
    }


def alb_event(path: str = "/", method: str = "GET", **changes: Any) -> dict[str, Any]:
    """A load balancer's event."""
    return {
        "requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:x"}},
        "httpMethod": method,
        "path": path,
        "queryStringParameters": {"q": "a%20b"},
        "headers": {"host": "lb.example.com", "x-forwarded-for": "203.0.113.9", "x-forwarded-port": "80", "x-forwarded-proto": "http"},
        "body": "",
        "isBase64Encoded": False,
        **changes,
    }
