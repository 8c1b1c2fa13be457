"""The process of one Lambda environment: load the app, serve it."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mangum.types import ASGI
from pydantic import BaseModel

from functions.runtime.application import LoadError, load
from functions.runtime.client import RuntimeApiError, RuntimeClient
from functions.runtime.loop import serve

logger = logging.getLogger("functions.runtime")


def main() -> int:
    """Exit code: 0 after SIGTERM, 1 if the app cannot be loaded or started, or the Runtime API is gone."""
    # where nobody set logging up, warnings still say whose they are
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
    # stdout is a pipe: a line that stays in its buffer while the environment is frozen is read with the next run, or never
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    runtime_api = os.environ["AWS_LAMBDA_RUNTIME_API"]
    try:
        app = loaded()
    except LoadError as exc:
        logger.exception("the app cannot be loaded")
        asyncio.run(RuntimeClient(runtime_api).init_error(exc.failure))
        return 1
    try:
        serve(app, runtime_api)
    except (RuntimeApiError, OSError):
        logger.exception("the Runtime API cannot be used any more")
        return 1
    return 0


def loaded() -> ASGI:
    """The app, without the collector at work meanwhile: what imports make stays, and looking through it again and again is a tenth of
    a cold start's CPU. Frozen, it is not looked through in the midst of a stream either. Raises `LoadError`."""
    gc.disable()
    try:
        with unbuilt_models():
            return load(_handler())
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def unbuilt_models() -> Iterator[None]:
    """Pydantic builds the validators of the models that are made meanwhile at their first use (`defer_build`, which a model inherits): of
    the 600 that the libraries define a run uses a few dozen, and the others are a tenth of a cold start's CPU."""
    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]


def _handler() -> str:
    # an instrumenting wrapper (OpenTelemetry, Serverless) puts its own into _HANDLER and keeps ours; it would wrap no ASGI app
    return os.environ.get("ORIG_HANDLER") or os.environ.get("_HANDLER") or "functions.entry.app"


if __name__ == "__main__":
    sys.exit(main())
