"""What an agent is built from, made from the settings: its chat model, and each part that its spec names.

A part is a field of `graphs.catalog.Deps`; the module of its name here has `make(settings)`, imported when an agent asks for it.
"""

from __future__ import annotations

from importlib import import_module

from functions.settings import Settings
from graphs.catalog import AgentSpec, Deps
from graphs.models import make_model


def make_deps(spec: AgentSpec, settings: Settings) -> Deps:
    """Raises what a part raises whose settings are wrong; `graphs.models.MissingProvider` for a model without its package."""
    model = make_model(settings.chat_model, offline_delay_ms=settings.offline_delay_ms, script=spec.offline_script())
    return Deps(model, **{part: import_module(f"functions.parts.{part}").make(settings) for part in spec.parts})
