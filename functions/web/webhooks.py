"""The end of a background run, told to whoever asked: `forwardedProps.webhook` of its input is `{"url": "https://…"}`.

Signed as Standard Webhooks has it (https://www.standardwebhooks.com): `webhook-signature` is `v1,` and the base64 HMAC-SHA256 of
`<webhook-id>.<webhook-timestamp>.<body>`. Only allowed hosts are called, over https, without following a redirect, and at the address that
was looked at: a name that leads to this function's own network leads nowhere.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ag_ui.core import BaseEvent, RunAgentInput

from functions.settings import Settings
from functions.web.problems import Problem

log = logging.getLogger(__name__)

ATTEMPTS = 5
FIRST_PAUSE = 1.0
"""Seconds; twice as many after each attempt."""
TIMEOUT = 10.0
MARGIN_MS = 5_000
"""Of the invocation, that telling leaves."""
_UNICAST = ipaddress.ip_network("2000::/3")
LOCAL = ("localhost", "127.0.0.1", "::1")


def webhook_of(input: RunAgentInput) -> str | None:
    """Its URL; None: nobody is to be told.

    Raises:
        Problem: 422, it is no object with a URL.
    """
    props = input.forwarded_props
    given = props.get("webhook") if isinstance(props, Mapping) else None
    if given is None:
        return None
    url = given.get("url") if isinstance(given, Mapping) else None
    if not isinstance(url, str) or len(url) > 2_000:
        raise Problem(422, "BAD_INPUT", "forwardedProps.webhook must be an object with a url.")
    return url


def check_webhook(settings: Settings, input: RunAgentInput) -> None:
    """
    Raises:
        Problem: 422, it may not be called: another host than those of `AGENTS_WEBHOOK_HOSTS`, not https, no secret to sign with.
    """
    url = webhook_of(input)
    if url is None:
        return
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise Problem(422, "BAD_INPUT", "forwardedProps.webhook.url is no URL.") from error
    allowed = [host.strip().lower() for host in settings.webhook_hosts.split(",") if host.strip()]
    host = (parts.hostname or "").lower()
    if host not in allowed:
        raise Problem(422, "WEBHOOK_REFUSED", "The webhook's host is not one of those that may be called (AGENTS_WEBHOOK_HOSTS).")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOCAL):
        raise Problem(422, "WEBHOOK_REFUSED", "A webhook is called over https.")
    if parts.username is not None or not _secret(settings):
        raise Problem(422, "WEBHOOK_REFUSED", "A webhook's URL has no user, and needs AGENTS_WEBHOOK_SECRET to be signed with.")


def signed(secret: str, event_id: str, body: bytes, at: int) -> dict[str, str]:
    """The headers of a call."""
    told = f"{event_id}.{at}.".encode() + body
    signature = base64.b64encode(hmac.new(secret.encode(), told, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{signature}",
        "content-type": "application/json",
    }


def _secret(settings: Settings) -> str:
    """One of the `secrets` is a variable of the process once a run has read it, and may have changed since."""
    return os.environ.get("AGENTS_WEBHOOK_SECRET") or settings.webhook_secret


async def tell(settings: Settings, input: RunAgentInput, end: BaseEvent, remaining_ms: Callable[[], int] | None) -> bool:
    """Tries it a few times, within what the invocation has left. Whether somebody took it; what keeps them from it is logged.

    Raises:
        Problem: it may not be called.
    """
    url = webhook_of(input)
    if url is None:
        return False
    check_webhook(settings, input)  # once more: what is allowed may have changed since the run began
    event_id = hashlib.sha256(f"{input.thread_id}\n{input.run_id}".encode()).hexdigest()[:32]
    body = end.model_dump_json(by_alias=True, exclude_none=True).encode()
    pause = FIRST_PAUSE
    for attempt in range(1, ATTEMPTS + 1):
        try:
            status = await _call(url, body, signed(_secret(settings), event_id, body, int(time.time())))
            if status < 300:
                return True
            reason = f"it answered {status}"
        except Exception as error:  # noqa: BLE001 - whatever a foreign host does is no failure of the run
            reason = repr(error)
        left = remaining_ms() - MARGIN_MS if remaining_ms is not None else float("inf")
        log.warning("the webhook of run %s was not told (attempt %d): %s", input.run_id, attempt, reason)
        if attempt == ATTEMPTS or left < (pause + TIMEOUT) * 1_000:
            break
        await asyncio.sleep(pause)
        pause *= 2
    return False


async def _call(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """The status. Raises `OSError` for a host that is not to be called, else what httpx raises."""
    import httpx

    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = await _address(host, port)
    place = f"[{address}]" if ":" in address else address
    target = parts._replace(netloc=f"{place}:{port}", fragment="").geturl()
    extensions: dict[str, Any] = {"sni_hostname": host} if parts.scheme == "https" else {}
    async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=TIMEOUT) as client:
        answer = await client.post(target, content=body, headers={**headers, "host": parts.netloc}, extensions=extensions)
    return answer.status_code


async def _address(host: str, port: int) -> str:
    """The one that is called. One of a private network only where the host itself is that address, or this machine: it was allowed so."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port)
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not (_is_public(address) or host in (address, *LOCAL)):
            raise OSError(f"{host} leads to {address}, which is no public address")
    return addresses[0]


def _is_public(address: str) -> bool:
    """Of IPv6 only what is given out for hosts, and nothing that stands for an IPv4 address: that one was not looked at."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and (found not in _UNICAST or found.sixtofour or found.teredo):
        return False
    return found.is_global and not found.is_multicast
