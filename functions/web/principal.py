"""Who is asking. Threads live under their agent and principal, so the same id of two callers is two threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from functions.settings import Settings
from functions.web.problems import Problem

LOCAL = "local"


def principal_of(settings: Settings) -> Callable[[Request], str]:
    """The rule of `AGENTS_AUTH`, as a FastAPI dependency."""
    return {"iam": _iam, "none": _nobody}[settings.auth]


def _iam(request: Request) -> str:
    """The SigV4 identity that the function URL has verified (`requestContext.authorizer.iam`)."""
    authorizer = _mapping(_mapping(_mapping(request.scope.get("aws.event")).get("requestContext")).get("authorizer"))
    iam = _mapping(authorizer.get("iam"))
    identity = iam.get("userArn") or iam.get("userId")
    if not isinstance(identity, str) or not identity:
        raise Problem(
            403,
            "FORBIDDEN",
            "The request carries no IAM identity. Use the function URL with SigV4, or AGENTS_AUTH=none on your own machine.",
        )
    return identity


def _nobody(request: Request) -> str:
    return LOCAL


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
