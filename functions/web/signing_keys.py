"""The keys an OpenID provider signs with, read over HTTP and kept: a provider that is down, or a flood of forged tokens, changes nothing.

Discovery: OpenID Connect Discovery 1.0 §4 (`<issuer>/.well-known/openid-configuration`, its `issuer` and `jwks_uri`). Keys: RFC 7517.
"""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from functions.settings import is_secure_url

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "ES256")
FRESH_SECONDS = 600.0
"""Keys are read again after this long, so that one the provider has withdrawn stops working."""
KEPT_SECONDS = 86_400.0
"""They go on working for as long as this when they cannot be read again."""
PAUSE_SECONDS = 10.0
"""Between two requests to the provider, whatever tokens say: a key that nobody knows is looked for once in this time."""
TIMEOUT_SECONDS = 3.0
LARGEST_DOCUMENT = 512 * 1024
"""Bytes."""


class KeysUnavailable(Exception):
    """The provider's keys cannot be read, and none is kept that would do. `retry_after`: seconds."""

    retry_after = int(PAUSE_SECONDS)


class UnknownKey(Exception):
    """The provider has no such key, as of at most `PAUSE_SECONDS` ago."""


class SigningKeys:
    """The keys of one issuer by their id. Safe for threads; one of them asks the provider, those that need its answer wait for it.

    `url` is where the keys are; empty: the issuer's discovery document says it. `now` is a clock in seconds that goes on while the
    environment is frozen.
    """

    def __init__(self, issuer: str, url: str = "", *, now: Callable[[], float] = time.time) -> None:
        self._issuer, self._url, self._now = issuer, url, now
        self._keys: dict[str, PyJWK] = {}
        self._read_at = self._asked_at = float("-inf")
        self._failed = False
        self._asking = threading.Lock()

    def find(self, key_id: str | None) -> PyJWK:
        """The key of that id, or for a token that names none the provider's only key.

        Raises:
            UnknownKey: there is no such key.
            KeysUnavailable: nobody can tell, the provider does not answer.
        """
        if self._now() - self._read_at < FRESH_SECONDS and (key := self._kept(key_id)):
            return key
        self._ask_again(key_id)
        if key := self._kept(key_id):
            return key
        if self._failed:
            raise KeysUnavailable(f"The signing keys of {self._issuer} cannot be read. Try again in {KeysUnavailable.retry_after} seconds.")
        raise UnknownKey

    def _kept(self, key_id: str | None) -> PyJWK | None:
        if self._now() - self._read_at >= KEPT_SECONDS:
            return None
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    def _ask_again(self, key_id: str | None) -> None:
        # a kept key will do while another thread is asking
        if not self._asking.acquire(blocking=self._kept(key_id) is None):
            return
        try:
            if self._now() - self._asked_at >= PAUSE_SECONDS:
                self._ask()
        finally:
            self._asking.release()

    def _ask(self) -> None:
        self._asked_at = self._now()
        try:
            self._keys = _usable(_read(self._url or self._discovered()))
        except (OSError, http.client.HTTPException, ValueError) as exc:
            self._failed = True
            log.error("the signing keys of %s could not be read: %s", self._issuer, exc)
        else:
            self._failed = False
            self._read_at = self._now()

    def _discovered(self) -> str:
        document = _read(f"{self._issuer.removesuffix('/')}/.well-known/openid-configuration")
        if document.get("issuer") != self._issuer:
            raise ValueError(f"its discovery document is that of {document.get('issuer')!r}")
        url = document.get("jwks_uri")
        if not isinstance(url, str) or not is_secure_url(url):
            raise ValueError(f"its discovery document names no https address of keys, but {url!r}")
        return url


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could lead to plain http: it is an `HTTPError` here."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _read(url: str) -> Mapping[str, Any]:
    """A JSON object. Raises `OSError`, `HTTPException` or `ValueError`."""
    request = urllib.request.Request(url, headers={"accept": "application/json"})
    with _OPENER.open(request, timeout=TIMEOUT_SECONDS) as response:
        raw = response.read(LARGEST_DOCUMENT + 1)
    if len(raw) > LARGEST_DOCUMENT:
        raise ValueError(f"{url} sends more than {LARGEST_DOCUMENT} bytes")
    document = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError(f"{url} is no JSON object")
    return document


def _usable(document: Mapping[str, Any]) -> dict[str, PyJWK]:
    """The public keys that may sign a token here. Others are left out: a provider may publish what this does not know.

    Raises `ValueError` when there is none: that is a provider in trouble, and no reason to forget the keys it had.
    """
    listed = document.get("keys")
    found = {str(raw.get("kid", "")): key for raw in (listed if isinstance(listed, list) else ()) if (key := _key(raw))}
    if not found:
        raise ValueError("there is no key for RS256 or ES256 among them")
    return found


def _key(raw: Any) -> PyJWK | None:
    if not isinstance(raw, dict) or raw.get("kty") not in ("RSA", "EC") or raw.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(raw)
    except (PyJWTError, TypeError, ValueError) as exc:  # the last two of values of a wrong type
        log.warning("a key of the provider cannot be used: %s", type(exc).__name__)
        return None
    return key if key.algorithm_name in ALGORITHMS and not key.Algorithm.check_key_length(key.key) else None
