"""Who is asking. Threads live under their agent and principal, so the same id of two callers is two threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from functions.settings import LOCAL_USER, Settings
from functions.web.problems import Problem

_POOLED = re.compile(r":(?:assumed-role/.+/)?CognitoIdentityCredentials$")
"""The session that Cognito's enhanced flow opens for every user of an identity pool, at the end of a role session's ARN or user id."""


def principal_of(settings: Settings) -> Callable[[Request], str]:
    """The rule of `AGENTS_AUTH`, as a FastAPI dependency."""
    if settings.auth == "jwt":
        # here, not above: the other modes' bundles carry no PyJWT
        from functions.web.tokens import Tokens

        return Tokens(settings).principal
    return {"iam": _iam, "none": _nobody}[settings.auth]


def _iam(request: Request) -> str:
    """The SigV4 identity that the function URL has verified (`requestContext.authorizer.iam`).

    A Cognito identity, where the event names one. Else the ARN: for an assumed role it ends in the session's name, so two sessions of a
    role are two callers. Whoever may assume the role chooses that name: hold each to their own with `sts:RoleSessionName` in its trust
    policy, or let a service that knows its users assume it for them.

    Raises:
        Problem: 403 without an identity, or with one that every user of a Cognito identity pool has.
    """
    authorizer = _mapping(_mapping(_mapping(request.scope.get("aws.event")).get("requestContext")).get("authorizer"))
    iam = _mapping(authorizer.get("iam"))
    if cognito := _cognito(_mapping(iam.get("cognitoIdentity"))):
        return cognito
    identity = iam.get("userArn") or iam.get("userId")
    if not isinstance(identity, str) or not identity:
        raise Problem(
            403,
            "FORBIDDEN",
            "The request carries no IAM identity. Use the function URL with SigV4, or AGENTS_AUTH=none on your own machine.",
        )
    if _POOLED.search(identity):
        raise Problem(
            403,
            "FORBIDDEN",
            "These credentials are a Cognito identity pool's, and the request does not say which of its users sends it: they would share "
            "their threads. Call with a role session named after the user.",
        )
    return identity


def _cognito(identity: Mapping[str, Any]) -> str | None:
    """One user of one pool; None where the event does not tell both."""
    pool, user = identity.get("identityPoolId"), identity.get("identityId")
    return f"cognito:{pool}:{user}" if isinstance(pool, str) and pool and isinstance(user, str) and user else None


def _nobody(request: Request) -> str:
    return LOCAL_USER


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
