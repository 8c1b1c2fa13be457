"""The environment variables of the child processes: what Lambda would set, and nothing of the user's that could lead a worker to AWS."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from infra.local.process import ROOT
from infra.local.store import BUCKET, credentials

HANDLER = "functions.entry.app"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOCAL = "127.0.0.1,localhost,::1"
NO_FILES = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


def user_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The user's environment over the `.env` of the working folder (provider keys are read there too)."""
    written = {name: value for name, value in dotenv_values(Path.cwd() / ".env").items() if value is not None}
    return written | dict(environ)


def bare(user: Mapping[str, str], *, proxies: bool = False) -> dict[str, str]:
    """What every child starts with: no AWS profile, token or endpoint, none of our own settings.

    Nor the user's AWS files: a profile of theirs may send a client elsewhere, or be one that botocore refuses. Proxies stay only if
    `proxies`: a real model may be behind one, the store never is. `.pyc` files are written: without them each worker compiles everything.
    """
    kept = {name: value for name, value in user.items() if not name.startswith(("AWS_", "AGENTS_", "LAMBDA_", "_HANDLER"))}
    if not proxies:
        kept = {name: value for name, value in kept.items() if name.upper() not in _PROXIES}
    for name in ("NO_PROXY", "no_proxy"):
        kept[name] = ",".join(filter(None, [user.get(name), _LOCAL]))
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | NO_FILES


@dataclass(frozen=True, slots=True)
class FunctionVariables:
    """Makes the environment of one agent's function."""

    user: Mapping[str, str]  # `user_variables()`
    base: Mapping[str, str]  # `bare()`
    store: str  # host:port
    urls: Mapping[str, str]  # agent → its local function URL

    def __call__(self, agent: str) -> dict[str, str]:
        return {
            **self.base,
            **{name: value for name, value in self.user.items() if name.startswith("AGENTS_")},
            **credentials(self.store),
            # https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
            "_HANDLER": self.user.get("_HANDLER", HANDLER),
            "AWS_LAMBDA_FUNCTION_NAME": agent,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_SAM_LOCAL": "true",
            "LAMBDA_TASK_ROOT": str(ROOT),
            "AGENTS_NAME": agent,
            "AGENTS_AUTH": "none",
            "AGENTS_BUCKET": BUCKET,
            "AGENTS_CORS": "false",
            "AGENTS_FUNCTION_URLS": json.dumps(dict(self.urls)),
        }
