"""CORS as the configuration of a function URL answers it: the preflight never reaches the function, other answers get headers added.

https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html#urls-cors
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

Headers = list[tuple[bytes, bytes]]


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names under which a machine reaches itself."""


@dataclass(frozen=True, slots=True)
class Cors:
    """The fields of a function URL's `Cors`; `*` means any. `loopback` allows every origin of this machine too, whatever its port."""

    allow_origins: tuple[str, ...] = ("*",)
    allow_methods: tuple[str, ...] = ("*",)
    allow_headers: tuple[str, ...] = ("*",)
    expose_headers: tuple[str, ...] = ("x-worker-pid",)
    max_age: int = 300
    loopback: bool = False

    def preflight(self, headers: Mapping[str, str]) -> Headers:
        """The headers that answer a preflight; none allow anything if the origin is not among ours."""
        origin = self._origin(headers)
        if not origin:
            return []
        methods = headers["access-control-request-method"] if "*" in self.allow_methods else ",".join(self.allow_methods)
        # named one by one: for a browser `*` does not include `Authorization`
        wanted = headers.get("access-control-request-headers", "")
        allowed = wanted if "*" in self.allow_headers else ",".join(self.allow_headers)
        answer = [
            *origin,
            (b"access-control-allow-methods", methods.encode()),
            (b"access-control-max-age", str(self.max_age).encode()),
        ]
        return [*answer, (b"access-control-allow-headers", allowed.encode())] if allowed else answer

    def answer(self, headers: Mapping[str, str]) -> Headers:
        """What is added to the function's own headers. If the function sets them too they are doubled, as on AWS."""
        origin = self._origin(headers)
        if not origin or not self.expose_headers:
            return origin
        return [*origin, (b"access-control-expose-headers", ",".join(self.expose_headers).encode())]

    def _origin(self, headers: Mapping[str, str]) -> Headers:
        origin = headers.get("origin")
        if origin is None:
            return []
        if "*" in self.allow_origins:
            return [(b"access-control-allow-origin", b"*")]
        if origin in self.allow_origins or (self.loopback and hostname_of(origin) in LOOPBACK):
            return [(b"access-control-allow-origin", origin.encode()), (b"vary", b"Origin")]
        return []


def hostname_of(url: str) -> str | None:
    """The host's name in lower case, without port and brackets; None if there is none or it is no URL."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers
