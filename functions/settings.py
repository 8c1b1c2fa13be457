"""Every environment variable this project reads, with its default and meaning. One prefix: `AGENTS_`.

Foreign names (`AWS_REGION`, `AWS_ENDPOINT_URL`, `OPENAI_API_KEY` …) stay what users know; the libraries that own them read them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

LOCAL_USER = "local"
"""Whom everybody is where `auth` is `none`."""
ON_AWS = "AWS_LAMBDA_FUNCTION_NAME"
"""Lambda sets it in every function."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_SECRET_ARN = re.compile(r"arn:[a-z-]+:(?:secretsmanager:[a-z0-9-]+:\d{12}:secret:|ssm:[a-z0-9-]+:\d{12}:parameter/)\S+")
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL")
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


class Settings(BaseSettings):
    """Settings of one function. Built once at init; raises `pydantic.ValidationError` naming the variable that is wrong."""

    model_config = SettingsConfigDict(env_prefix="AGENTS_", env_file=".env", extra="ignore", frozen=True)

    name: str = Field(default="", description="The agent that this function serves, a key of `graphs.catalog.AGENTS`.")
    model: str = Field(default="offline", description="Chat model as `provider:model`; `offline` is the scripted model that needs no key.")
    openai_model: str = Field(default="", validation_alias="OPENAI_MODEL", description="The model that `AGENTS_MODEL=openai` means.")
    completion_url: str = Field(
        default="",
        description="OpenAI-compatible base URL of the model that rewrites documents; empty: `AGENTS_MODEL` does.",
    )
    completion_model: str = Field(default="", description="That model's name; empty: the name in `AGENTS_MODEL`.")
    completion_key: str = Field(default="", repr=False, description="That server's key, sent as a bearer token; empty: none.")
    claude_folder: str = Field(default="", description="Folder that claudeAgent reads and runs commands in; empty: this project's own.")
    claude_allowed: str = Field(
        default="Read,Grep,Glob,Bash",
        description="Tools that claudeAgent uses without asking; `WebFetch`, `WebSearch` and the rest need approval.",
    )
    offline_delay_ms: int = Field(default=12, ge=0, le=5_000, description="Pause of the offline model between two tokens, in milliseconds.")
    tushare_token: str = Field(
        default="",
        validation_alias="TUSHARE_TOKEN",
        repr=False,
        description="Token of Tushare's MCP server, for the agent `tushare`; without one it works on sample data.",
    )
    tushare_url: str = Field(
        default="https://api.tushare.pro/mcp/", description="Tushare's MCP server (streamable HTTP), or one with the same tools."
    )
    tushare_tools: str = Field(
        default="",
        description="Names of the server's tools to use, with commas between; empty: all. Some models take only 128, the server has more.",
    )
    table_prefix: str = Field(default="agents-", description="Prefix of the DynamoDB table names.")
    bucket: str = Field(
        default="", description="S3 bucket of knowledge bases and payloads over 350 KB; empty: no bases, payloads go into the table."
    )
    embeddings: str = Field(
        default="",
        description="Embedding model of knowledge bases, `provider:model`; `hashing` needs no key; empty: a search by words alone.",
    )
    sample_knowledge: bool = Field(default=True, description="Search the bundled sample documents too.")
    ttl_days: int = Field(default=0, ge=0, description="Days after its last write that a thread expires; 0 keeps it.")
    lease_seconds: float = Field(
        default=30.0, gt=0, description="A thread whose run died is free for the next one after this long, in seconds."
    )
    events_hours: float = Field(
        default=24.0,
        ge=0,
        description="Hours that the events of a run are kept, so that a dropped stream can be joined again; 0: not at all.",
    )
    drain_seconds: float = Field(
        default=20.0,
        gt=0,
        description="A run stops at a step's end when its invocation has less than this left, in seconds; a longer step is cancelled.",
    )
    hops: int = Field(
        default=16,
        ge=0,
        description="How often another invocation goes on with a run whose own has come to its deadline; 0: it ends with `RUN_DEADLINE`.",
    )
    runs_at_once: int = Field(
        default=0, ge=0, le=100, description="Runs that one caller may have under way, over all agents of these tables; 0: any number."
    )
    runs_a_minute: int = Field(default=0, ge=0, description="Runs that one caller may begin in a minute; 0: any number.")
    tokens_a_day: int = Field(
        default=0, ge=0, description="Tokens, in and out, after which a caller's runs of that day (UTC) are refused; 0: any number."
    )
    webhook_hosts: str = Field(
        default="", description="Hosts, separated by commas, that a background run may tell its end to; empty: none."
    )
    webhook_secret: str = Field(default="", repr=False, description="What webhooks are signed with; give it as one of the `secrets`.")
    code_version: str = Field(
        default_factory=lambda: os.environ.get("AWS_LAMBDA_FUNCTION_VERSION", "").replace("$LATEST", ""),
        description="Of the deployed code. A thread's open questions are asked again when another version ran it last; "
        "default: the function's own version on AWS.",
    )
    auth: Literal["iam", "jwt", "none"] = Field(
        default_factory=lambda: "iam" if ON_AWS in os.environ else "none",
        description="Who the caller is: `iam` (the URL's own SigV4 identity; the default on AWS), `jwt` (the subject of a bearer token), "
        "or `none` (everybody is one local user).",
    )
    jwt_issuer: str = Field(default="", description="With `jwt`: the OpenID issuer, exactly as in its tokens' `iss`.")
    jwt_audience: str = Field(default="", description="With `jwt`: what a token's `aud` must be or hold.")
    jwt_jwks_url: str = Field(default="", description="With `jwt`: where the issuer's keys are; empty: its discovery document says it.")
    debug: bool = Field(default=False, description="Put the exception's own text on RUN_ERROR. Never on a public URL.")
    cors: bool = Field(default=False, description="Answer CORS in the app. Only without a function URL in front, which answers it itself.")
    heartbeat_seconds: float = Field(
        default=10.0, gt=0, description="A comment is sent when a stream was silent for this long, in seconds."
    )
    max_body_bytes: int = Field(default=6 * 1024 * 1024, gt=0, description="Largest request body, in bytes (Lambda's own limit is 6 MB).")
    function_urls: dict[str, str] = Field(default_factory=dict, description="JSON object: agent name to its function URL, for the catalog.")
    log_level: str = Field(
        default_factory=lambda: os.environ.get("AWS_LAMBDA_LOG_LEVEL") or "INFO",
        description="Level of the JSON log: `DEBUG` (the only one that shows prompts and tool arguments), `INFO`, `WARN`, `ERROR`; "
        "default: the function's own log level on AWS.",
    )
    metrics_namespace: str = Field(
        default="AgentFunctions",
        min_length=1,
        max_length=255,
        description="Namespace of the metrics in CloudWatch; the stack sets its own.",
    )
    flush_seconds: float = Field(
        default=2.0,
        ge=0,
        description="After a response, traces of LangSmith and OpenTelemetry are sent for at most so long, in seconds; the next run waits.",
    )
    secrets: dict[str, str] = Field(
        default_factory=dict,
        description="JSON object: environment variable to the Secrets Manager secret (name or ARN) or SSM parameter (`/name` or ARN) that "
        "has its value. Read at the first run.",
    )
    secrets_max_age_seconds: int = Field(default=300, ge=0, description="After this long a secret is read again, in seconds.")

    @model_validator(mode="after")
    def _jwt_is_whole(self) -> Self:
        if self.auth == "jwt":
            check_jwt(self.jwt_issuer, self.jwt_audience, self.jwt_jwks_url)
        return self

    @field_validator("log_level")
    @classmethod
    def _level_is_known(cls, level: str) -> str:
        """Lambda's names and Python's → Python's."""
        name = level.upper()
        if name not in LOG_LEVELS:
            raise ValueError(f"log_level {level!r} is none of {', '.join(LOG_LEVELS)}")
        return {"TRACE": "DEBUG"}.get(name, name)

    @field_validator("secrets")
    @classmethod
    def _secrets_have_names(cls, secrets: dict[str, str]) -> dict[str, str]:
        check_secrets(secrets)
        return secrets

    def overlaid(self, values: Mapping[str, str]) -> Settings:
        """With those `values` (of environment variables) that are settings. Raises `pydantic.ValidationError` for a wrong one."""
        fields = {str(field.validation_alias or f"AGENTS_{name.upper()}"): (name, field) for name, field in type(self).model_fields.items()}
        given = {variable: fields[variable] for variable in values if variable in fields}
        return self.model_copy(update={name: _parsed(field, values[variable]) for variable, (name, field) in given.items()})

    @property
    def ttl_seconds(self) -> int | None:
        """Of threads; None keeps them."""
        return self.ttl_days * 86_400 or None

    @property
    def chat_model(self) -> str:
        """`model`, with the bare provider `openai` completed by `OPENAI_MODEL`."""
        return f"openai:{self.openai_model}" if self.model == "openai" and self.openai_model else self.model


def _parsed(field: FieldInfo, text: str) -> Any:
    """A variable's text by its field's type and limits; objects and lists are JSON."""
    annotated: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    type_: TypeAdapter[Any] = TypeAdapter(annotated)
    return type_.validate_json(text) if text[:1] in "[{" else type_.validate_python(text)


def check_jwt(issuer: str, audience: str, jwks_url: str) -> None:
    """Raises `ValueError` naming what `auth` `jwt` lacks. Keys are read over https, or from this very machine."""
    if not issuer or not audience:
        raise ValueError("auth jwt needs jwt_issuer and jwt_audience")
    if not is_secure_url(issuer) or set(issuer) & set("?#"):
        raise ValueError(f"jwt_issuer {issuer!r} is no https URL without query and fragment")
    if jwks_url and not is_secure_url(jwks_url):
        raise ValueError(f"jwt_jwks_url {jwks_url!r} is no https URL")


def check_secrets(secrets: Mapping[str, str]) -> None:
    """Raises `ValueError` for a variable that no secret may set: Lambda's own, or what is no name."""
    for variable, source in secrets.items():
        if not _VARIABLE.fullmatch(variable) or variable.startswith(("AWS_", "LAMBDA_")):
            raise ValueError(f"secrets: {variable!r} is no environment variable that a secret may set")
        if not source or (source.startswith("arn:") and not _SECRET_ARN.fullmatch(source)):
            raise ValueError(f"secrets: {source!r} of {variable} is no Secrets Manager secret and no SSM parameter")


def is_parameter(source: str) -> bool:
    """Whether it names an SSM parameter: by its path or ARN. Else it is a secret of Secrets Manager."""
    return source.startswith("/") or source.split(":")[2:3] == ["ssm"]


def is_secure_url(url: str) -> bool:
    """Whether nobody on the way can change what is read there: https, or http on this machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_MACHINE))


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The process's settings, read once."""
    return Settings()
