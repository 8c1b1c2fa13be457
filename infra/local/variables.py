"""The environment variables of the child processes: what Lambda would set, and nothing of the user's that could lead a worker to AWS."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from infra.local.process import ROOT
from infra.local.store import BUCKET, KEYS, credentials, endpoints

HANDLER = "functions.entry.app"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOCAL = "127.0.0.1,localhost,::1"
# https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html: who one is and where, nothing of how one calls
_WHO_AND_WHERE = re.compile(
    r"AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|BEARER_TOKEN_BEDROCK|PROFILE|(DEFAULT_)?REGION|ROLE_(ARN|SESSION_NAME)"
    r"|CONFIG_FILE|SHARED_CREDENTIALS_FILE|WEB_IDENTITY_TOKEN_FILE|CONTAINER_.*|EC2_METADATA_.*|CA_BUNDLE|ENDPOINT_URL_BEDROCK.*)"
)
LEASE_SECONDS = "10"
"""Workers die more often here, killed by a reload or a Ctrl-C, and their users wait in front of the screen."""
NO_FILES = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


def user_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The user's environment over the `.env` of the working folder (provider keys are read there too)."""
    written = {name: value for name, value in dotenv_values(Path.cwd() / ".env").items() if value is not None}
    return written | dict(environ)


def data_folder() -> Path:
    """Where the store keeps its data: `AGENTS_DATA_DIR`, else a folder under the user's data directory."""
    if named := user_variables().get("AGENTS_DATA_DIR"):
        return Path(named).expanduser()  # no shell has done it for a line of `.env`
    import platformdirs

    return Path(platformdirs.user_data_dir("agent-functions", appauthor=False)) / "local"


def on_bedrock(model: str) -> bool:
    """Whether a `provider:model` is called with AWS credentials."""
    return model.partition(":")[0] in ("bedrock", "bedrock_converse")


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


def identity_for_bedrock(user: Mapping[str, str]) -> dict[str, str]:
    """The user's own identity and region on AWS, where the model is; the store takes any.

    A bearer token for Bedrock is no identity for the store, so the local keys stay beside it unless there are others.
    """
    own = {name: value for name, value in user.items() if _WHO_AND_WHERE.fullmatch(name)}
    signs = own.keys() & {"AWS_ACCESS_KEY_ID", "AWS_PROFILE"}
    return own if signs or "AWS_BEARER_TOKEN_BEDROCK" not in own else KEYS | own


@dataclass(frozen=True, slots=True)
class FunctionVariables:
    """Makes the environment of one agent's function."""

    user: Mapping[str, str]  # `user_variables()`
    base: Mapping[str, str]  # `bare()`
    store: str  # host:port
    urls: Mapping[str, str]  # agent → its local function URL
    model: str = "offline"  # `Settings.chat_model`
    own_events: str = ""  # endpoint of Lambda's Invoke API; empty: functions do not invoke themselves

    def __call__(self, agent: str) -> dict[str, str]:
        base, identity = self.base, credentials()
        if on_bedrock(self.model):
            base, identity = {name: value for name, value in base.items() if name not in NO_FILES}, identity_for_bedrock(self.user)
        return {
            **base,
            "AGENTS_LEASE_SECONDS": LEASE_SECONDS,
            **{name: value for name, value in self.user.items() if name.startswith("AGENTS_")},
            **identity,
            **endpoints(self.store),
            **({"AWS_ENDPOINT_URL_LAMBDA": self.own_events} if self.own_events else {"AGENTS_HOPS": "0"}),
            # https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
            "_HANDLER": self.user.get("_HANDLER", HANDLER),
            "AWS_LAMBDA_FUNCTION_NAME": agent,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_SAM_LOCAL": "true",
            "LAMBDA_TASK_ROOT": str(ROOT),
            "AGENTS_NAME": agent,
            "AGENTS_AUTH": "jwt" if self.user.get("AGENTS_AUTH") == "jwt" else "none",
            "AGENTS_SECRETS": "{}",  # a laptop's keys are in its environment; the local store has none
            "AGENTS_BUCKET": BUCKET,
            "AGENTS_CORS": "false",
            "AGENTS_FUNCTION_URLS": json.dumps(dict(self.urls)),
        }
