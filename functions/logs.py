"""One JSON line per log record, as CloudWatch reads it: Powertools' formatter on the root logger."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter, clear_context_keys, set_context_keys

from functions.settings import Settings

_HIDDEN: set[str] = set()
SHORTEST_HIDDEN = 8
"""Characters. What is shorter is no key, and would tear holes into every line."""


def hide(values: Iterable[str]) -> None:
    """From now on no log line shows these values, whoever puts them there (a provider that echoes a wrong key, for one)."""
    _HIDDEN.update(form for value in values if len(value) >= SHORTEST_HIDDEN for form in (value, json.dumps(value)[1:-1]))


class Formatter(LambdaPowertoolsFormatter):
    """Powertools' own, without what is hidden."""

    def format(self, record: logging.LogRecord) -> str:
        line: str = super().format(record)
        for value in _HIDDEN:
            line = line.replace(value, "***")
        return line


QUIETENED = ("botocore", "boto3", "urllib3", "httpx", "httpcore")
"""Loggers that are heard from a warning on."""


def configure_logs(settings: Settings) -> None:
    """Sends every logger of the process through one handler; called once per environment."""
    handler = logging.StreamHandler(sys.stderr)
    # Lambda takes a line for INFO, whatever its level, unless its timestamp is one of RFC 3339. The trace is of the request (see below):
    # Powertools' own is the process's, and wrong where several requests are answered at once
    named = {"location": "%(name)s.%(funcName)s:%(lineno)d", "service": settings.name or "agents"}
    formatter = Formatter(log_record_order=["level", "message"], use_rfc3339=True, utc=True)
    formatter.append_keys(**named, xray_trace_id=None)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for noisy in QUIETENED:
        logging.getLogger(noisy).setLevel(logging.WARNING)


def append_keys(**keys: str) -> None:
    """From now on each line of this task, and of those that it starts, carries these. Another's lines do not."""
    set_context_keys(**keys)  # type: ignore[arg-type]  # it says a dict of each value, and takes any


def clear_keys() -> None:
    """Forgets this task's."""
    clear_context_keys()
