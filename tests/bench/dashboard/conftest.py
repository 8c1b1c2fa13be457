"""The synthesised stack."""

from __future__ import annotations

from tests.infra.conftest import assets, synth

__all__ = ["assets", "synth"]
