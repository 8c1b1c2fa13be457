"""Who a bearer token says is calling: the issuer's signature, its audience and its times (RFC 7519; the header is RFC 6750's)."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import jwt
from jwt import PyJWK
from jwt.exceptions import (
    DecodeError,
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAlgorithmError,
    InvalidAudienceError,
    InvalidIssuerError,
    InvalidSignatureError,
    MissingRequiredClaimError,
    PyJWTError,
)
from starlette.requests import Request

from functions.settings import Settings
from functions.web.problems import Problem
from functions.web.signing_keys import ALGORITHMS, KeysUnavailable, SigningKeys, UnknownKey

log = logging.getLogger(__name__)

CLOCK_SKEW_SECONDS = 30
"""How far the provider's clock may be from this one, for `exp`, `nbf` and `iat`."""
LONGEST_TOKEN = 8 * 1024
"""Characters. Longer ones are refused unread."""
LONGEST_SUBJECT = 255
"""Characters (OpenID Connect Core 1.0 §2)."""

# The first class that an error is an instance of → its code and words. The token itself is never echoed.
_REFUSALS: tuple[tuple[type[PyJWTError], str, str], ...] = (
    (ExpiredSignatureError, "TOKEN_EXPIRED", "The token has expired. Get a new one."),
    (ImmatureSignatureError, "TOKEN_NOT_YET_VALID", "The token is not valid yet. Check the clocks."),
    (InvalidIssuerError, "TOKEN_ISSUER", "The token is of another issuer."),
    (InvalidAudienceError, "TOKEN_AUDIENCE", "The token is for another audience."),
    (InvalidAlgorithmError, "TOKEN_ALGORITHM", f"The token is not signed with {' or '.join(ALGORITHMS)} by the key that it names."),
    (InvalidSignatureError, "TOKEN_SIGNATURE", "The token's signature is not that of its issuer."),
    (MissingRequiredClaimError, "TOKEN_CLAIMS", "The token lacks one of the claims iss, aud, sub, exp."),
    (DecodeError, "TOKEN_MALFORMED", "The token is no signed JWT."),
    (PyJWTError, "TOKEN_CLAIMS", "A claim of the token is not what it has to be."),
)


class Tokens:
    """Reads the callers of one audience. Called in a worker thread: the first request, and some after it, ask the provider for its keys."""

    def __init__(self, settings: Settings, keys: SigningKeys | None = None) -> None:
        self._issuer, self._audience = settings.jwt_issuer, settings.jwt_audience
        self._keys = keys or SigningKeys(settings.jwt_issuer, settings.jwt_jwks_url)

    def principal(self, request: Request) -> str:
        """`<issuer>#<subject>`: an issuer holds no `#`, so no two subjects are one caller, nor is one of them an IAM identity.

        Raises:
            Problem: 401 whose code says what is wrong with the token, 503 where the provider's keys cannot be read.
        """
        subject = self._claims(_bearer(request))["sub"]
        if not subject or len(subject) > LONGEST_SUBJECT:
            _refuse("TOKEN_CLAIMS", f"The token's subject has no 1 to {LONGEST_SUBJECT} characters.")
        return f"{self._issuer}#{subject}"

    def _claims(self, token: str) -> dict[str, Any]:
        try:
            return jwt.decode(
                token,
                self._key_of(token),
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                audience=self._audience,
                leeway=CLOCK_SKEW_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except PyJWTError as exc:
            _refuse(*next((code, words) for cls, code, words in _REFUSALS if isinstance(exc, cls)))
        except UnknownKey:
            _refuse("TOKEN_UNKNOWN_KEY", "The token's issuer has no such key.")
        except KeysUnavailable as exc:
            raise Problem(503, "AUTH_UNAVAILABLE", str(exc), {"retry-after": str(exc.retry_after)}) from exc

    def _key_of(self, token: str) -> PyJWK:
        try:
            header = jwt.get_unverified_header(token)
        except PyJWTError as exc:  # also a `kid` that is no text, and a `crit` that nobody here knows
            raise DecodeError from exc
        # before its key is looked for: what cannot be accepted causes no request
        if header.get("alg") not in ALGORITHMS:
            raise InvalidAlgorithmError
        return self._keys.find(header.get("kid"))


# CloudFront's signature takes the place of `Authorization`, so its request function hands the caller's own on in the second
# (`infra/edge`). Wherever it stands, a token is verified: who sends the second one without CloudFront gains nothing.
_TOKEN_HEADERS = ("authorization", "x-forwarded-authorization")


def _bearer(request: Request) -> str:
    pairs = [request.headers.get(name, "").partition(" ") for name in _TOKEN_HEADERS]
    token = next((token for scheme, _, token in pairs if scheme.lower() == "bearer"), "")
    if not token.strip():
        # RFC 6750 §3: a request without any credentials gets no error code in the header
        raise Problem(401, "TOKEN_MISSING", "Send a token: Authorization: Bearer …", {"www-authenticate": "Bearer"})
    if len(token) > LONGEST_TOKEN:
        _refuse("TOKEN_TOO_LARGE", f"The token has more than {LONGEST_TOKEN} characters.")
    return token.strip()


def _refuse(code: str, words: str) -> NoReturn:
    log.info("a token was refused: %s", code)
    # a function URL renames this header to x-amzn-remapped-www-authenticate, so the body says it too
    raise Problem(401, code, words, {"www-authenticate": f'Bearer error="invalid_token", error_description="{words}"'})
