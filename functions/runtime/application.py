"""The ASGI app that a handler name means."""

from __future__ import annotations

import importlib
from typing import cast

from mangum.types import ASGI

from functions.runtime.failure import Failure


class LoadError(Exception):
    """The app cannot be loaded; `failure` is what `init/error` reports, with the types AWS's own runtime uses."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def load(handler: str) -> ASGI:
    """`package.module.attribute` → that attribute. The module is imported here and nowhere else. Raises `LoadError`."""
    module_name, _, attribute = handler.replace("/", ".").rpartition(".")
    if not module_name:
        raise LoadError(Failure("Runtime.MalformedHandlerName", f"not `module.attribute`: {handler!r}"))
    try:
        module = importlib.import_module(module_name)
    except Exception as exc:
        raise LoadError(Failure.of(exc, _error_type(exc))) from exc
    app = getattr(module, attribute, None)
    if not callable(app):
        raise LoadError(Failure("Runtime.HandlerNotFound", f"{module_name} has no app {attribute!r}"))
    return cast(ASGI, app)


def _error_type(exc: Exception) -> str | None:
    """AWS's own names for the common cases; None: the name of the exception's class."""
    names = {ImportError: "Runtime.ImportModuleError", SyntaxError: "Runtime.UserCodeSyntaxError"}
    return next((names[cls] for cls in type(exc).__mro__ if cls in names), None)
