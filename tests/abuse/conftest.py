"""The emulator."""

from __future__ import annotations

from tests.support.dynamodb import moto_endpoint

__all__ = ["moto_endpoint"]
