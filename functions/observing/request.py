"""The request that is being answered: its ids for every log line, its start for every time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from functions.observing.names import NAMESPACE

HASH_DIGITS = 16


@dataclass(slots=True)
class Environment:
    """One process. `models`: the names that a metric's dimension may have; `namespace`: of its metrics."""

    agent: str
    models: tuple[str, ...] = ()
    namespace: str = NAMESPACE
    cold: bool = True
    """No run has begun here."""

    def begin_run(self) -> bool:
        """Whether this is its first run."""
        cold, self.cold = self.cold, False
        return cold


@dataclass(frozen=True, slots=True)
class Observed:
    """One HTTP request. `trace_id` is the root of Lambda's trace header, empty where there is none; `started` by `time.perf_counter`."""

    environment: Environment
    request_id: str = ""
    trace_id: str = ""
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, scope: Mapping[str, Any], environment: Environment) -> Observed:
        """The ids of the invocation, where the runtime put its context into the ASGI scope; else those that the headers tell."""
        context = scope.get("aws.context")
        headers = {name: value.decode("latin-1") for name, value in scope.get("headers", ()) if name in _TOLD}
        return cls(
            environment,
            request_id=getattr(context, "aws_request_id", "") or headers.get(b"x-request-id", ""),
            trace_id=trace_root(getattr(context, "trace_id", "") or headers.get(b"x-amzn-trace-id", "")),
        )

    def keys(self) -> dict[str, str]:
        """What each log line of it carries. `function_request_id` is Powertools' name for Lambda's own `requestId`."""
        told = {"agent": self.environment.agent, "function_request_id": self.request_id, "trace_id": self.trace_id}
        return {name: value for name, value in told.items() if value}

    def milliseconds(self) -> float:
        """Since it began."""
        return (time.perf_counter() - self.started) * 1_000


_TOLD = (b"x-request-id", b"x-amzn-trace-id")

CURRENT: ContextVar[Observed | None] = ContextVar("observed_request", default=None)
"""Of this task and those that it starts."""


def trace_root(header: str) -> str:
    """`Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…;Sampled=1` → `1-5759e988-bd862e3fe1be46a994272793`."""
    fields = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in fields if name == "Root"), "")


def bind(**keys: str) -> None:
    """From now on the log lines of this request carry these too. Nothing outside of an observed request."""
    if CURRENT.get() is not None:
        from functions.logs import append_keys

        append_keys(**keys)


def user_hash(principal: str) -> str:
    """The same for the same caller, and not who that is."""
    return hashlib.sha256(principal.encode()).hexdigest()[:HASH_DIGITS]
