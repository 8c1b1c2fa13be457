"""How long a run of `tests.support.steps_app` is."""

from __future__ import annotations

STEPS, SECONDS = 32, 0.4
"""Of a run, and of a step."""
