"""The terminal's side of the wire: one AG-UI run over HTTP, its events as dicts as they arrive."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from infra.cli.signing import Bearer, hash_body, signer_for

Event = dict[str, Any]
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
TIMEOUT = httpx.Timeout(30.0, connect=5.0, read=120.0)
"""Seconds. A quiet stream sends a comment every ten, so two minutes of silence are a dead peer."""


class NoAnswer(Exception):
    """The function URL did not give a stream; the message says what came instead."""


class Agent:
    """One function URL. Raises `NoAnswer` for what is none, and for a token that the way there would show to everybody."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url if url.endswith("/") else url + "/"
        try:
            parts = urlsplit(self.url)
        except ValueError as exc:
            raise NoAnswer(f"{url} is no URL: {exc}") from exc
        host = parts.hostname or ""
        if token and parts.scheme != "https" and host not in LOCAL_HOSTS:
            raise NoAnswer(f"A token goes over https only, and {url} is not.")
        # a proxy of the environment is for the world outside, never for this machine
        trusts = host not in LOCAL_HOSTS
        auth, hooks = Bearer(token) if token else signer_for(host), {"request": [hash_body]}
        self._client = httpx.Client(timeout=TIMEOUT, trust_env=trusts, auth=auth, event_hooks=hooks)

    def run(self, body: Event) -> Iterator[Event]:
        """POSTs a RunAgentInput and yields the events as they come. Raises `NoAnswer`."""
        try:
            with self._client.stream("POST", self.url, json=body, headers={"accept": "text/event-stream"}) as response:
                if response.status_code != 200:
                    response.read()
                    raise NoAnswer(_problem(response))
                yield from read_events(split_lines(response.iter_bytes()))
        except httpx.RemoteProtocolError as exc:
            raise NoAnswer(f"The stream was cut: {exc}") from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise NoAnswer(f"Nothing answers at {self.url} ({exc}). Is `agents dev` running?") from exc

    def interrupts(self, thread: str) -> list[Event]:
        """What the thread waits for. Raises `NoAnswer`."""
        try:
            response = self._client.get(f"{self.url}threads/{quote(thread, safe='')}/state")
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise NoAnswer(f"Nothing answers at {self.url} ({exc}). Is `agents dev` running?") from exc
        if response.status_code != 200:
            raise NoAnswer(_problem(response))
        found: list[Event] = response.json().get("interrupts", [])
        return found


def run_input(thread: str, *, text: str | None = None, resume: list[Event] | None = None, state: Event | None = None) -> Event:
    """A RunAgentInput with one user message, or with answers. History is the thread's own, on the server."""
    messages = [] if text is None else [{"id": str(uuid.uuid4()), "role": "user", "content": text}]
    body: Event = {
        "threadId": thread,
        "runId": str(uuid.uuid4()),
        "protocolVersion": "1.0",
        "state": state or {},
        "messages": messages,
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    return {**body, "resume": resume} if resume else body


def split_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Lines without their ends. httpx's `iter_lines` also splits at U+2028, U+2029 and U+0085, which JSON may hold unescaped."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r").decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """SSE lines → events; comments and unknown fields are skipped."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield json.loads("\n".join(data))
            data = []


def _problem(response: httpx.Response) -> str:
    """`{"error": {"code", "message"}}` → a sentence; anything else as it is."""
    try:
        error = response.json()["error"]
        return f"HTTP {response.status_code} {error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}: {response.text[:500]}"
