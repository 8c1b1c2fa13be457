"""The process's own logging, for one test: what CloudWatch would get."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from functions.logs import QUIETENED, configure_logs
from functions.settings import Settings


@contextmanager
def process_logs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is written by it; root's handlers and every level are put back afterwards, for the tests that come next."""
    root, written = logging.getLogger(), io.StringIO()
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in (None, *QUIETENED)}
    monkeypatch.setattr(sys, "stderr", written)
    configure_logs(settings)
    try:
        yield written
    finally:
        root.handlers[:] = handlers
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
