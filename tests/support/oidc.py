"""An OpenID provider over HTTP with real keys, which can be rotated, and which can be down."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.support.http_server import QuietHandler, serving

AUDIENCE = "agents"
DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"
SigningKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Provider:
    """Publishes the public halves of `keys` (by key id). `status` other than 200: it is down. `asked`: the paths of its requests."""

    keys: dict[str, SigningKey]
    issuer: str = ""
    status: int = 200
    asked: list[str] = field(default_factory=list)
    documents: dict[str, Any] = field(default_factory=dict)  # instead of the true ones, by path

    def token(
        self, kid: str = "rsa", *, key: Any = None, alg: str | None = None, headers: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token signed with the key of that id, or with `key` under that id. A claim or a header that is None is left out."""
        now = int(time.time())
        said = {"iss": self.issuer, "aud": AUDIENCE, "sub": "ann", "iat": now, "nbf": now, "exp": now + 300} | claims
        signer = key if key is not None else self.keys[kid]
        algorithm = alg or ("ES256" if isinstance(signer, ec.EllipticCurvePrivateKey) else "RS256")
        named = {name: value for name, value in ({"kid": kid} | (headers or {})).items() if value is not None}
        return jwt.encode({name: value for name, value in said.items() if value is not None}, signer, algorithm, headers=named)

    def document(self, path: str) -> Any:
        true = {
            DISCOVERY: {"issuer": self.issuer, "jwks_uri": self.issuer + KEYS},
            KEYS: {"keys": [jwk(*key) for key in self.keys.items()]},
        }
        return self.documents.get(path, true[path])


def jwk(kid: str, key: SigningKey) -> dict[str, Any]:
    """The public half, as a provider publishes it."""
    if isinstance(key, rsa.RSAPrivateKey):
        public: dict[str, Any] = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return public | {"kid": kid, "use": "sig"}


@contextmanager
def oidc_provider(**keys: SigningKey) -> Iterator[Provider]:
    provider = Provider(dict(keys))

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            body = json.dumps(provider.document(self.path)).encode()
            self.send_response(provider.status)
            self.send_header("content-length", str(len(body)))
            self.send_header("location", provider.issuer + self.path)
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as provider.issuer:
        yield provider
