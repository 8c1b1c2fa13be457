"""Every environment variable this project reads, with its default and meaning. One prefix: `AGENTS_`.

Foreign names (`AWS_REGION`, `AWS_ENDPOINT_URL`, `OPENAI_API_KEY` …) stay what users know; the libraries that own them read them.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

LOCAL_USER = "local"
"""Whom everybody is where `auth` is `none`."""
ON_AWS = "AWS_LAMBDA_FUNCTION_NAME"
"""Lambda sets it in every function."""


class Settings(BaseSettings):
    """Settings of one function. Built once at init; raises `pydantic.ValidationError` naming the variable that is wrong."""

    model_config = SettingsConfigDict(env_prefix="AGENTS_", env_file=".env", extra="ignore", frozen=True)

    name: str = Field(default="", description="The agent that this function serves, a key of `graphs.catalog.AGENTS`.")
    model: str = Field(default="offline", description="Chat model as `provider:model`; `offline` is the scripted model that needs no key.")
    openai_model: str = Field(default="", validation_alias="OPENAI_MODEL", description="The model that `AGENTS_MODEL=openai` means.")
    claude_folder: str = Field(default="", description="Folder that claudeAgent reads and runs commands in; empty: this project's own.")
    claude_allowed: str = Field(
        default="Read,Grep,Glob,Bash",
        description="Tools that claudeAgent uses without asking; `WebFetch`, `WebSearch` and the rest need approval.",
    )
    offline_delay_ms: int = Field(default=12, ge=0, le=5_000, description="Pause of the offline model between two tokens, in milliseconds.")
    table_prefix: str = Field(default="agents-", description="Prefix of the DynamoDB table names.")
    bucket: str = Field(default="", description="S3 bucket for payloads over 350 KB; empty: they are stored in chunks in the table.")
    ttl_days: int = Field(default=0, ge=0, description="Days after its last write that a thread expires; 0 keeps it.")
    lease_seconds: float = Field(
        default=30.0, gt=0, description="A thread whose run died is free for the next one after this long, in seconds."
    )
    auth: Literal["iam", "none"] = Field(
        default_factory=lambda: "iam" if ON_AWS in os.environ else "none",
        description="Who the caller is: `iam` (the URL's own SigV4 identity; the default on AWS), or `none` (everybody is one local user).",
    )
    debug: bool = Field(default=False, description="Put the exception's own text on RUN_ERROR. Never on a public URL.")
    cors: bool = Field(default=False, description="Answer CORS in the app. Only without a function URL in front, which answers it itself.")
    heartbeat_seconds: float = Field(
        default=10.0, gt=0, description="A comment is sent when a stream was silent for this long, in seconds."
    )
    max_body_bytes: int = Field(default=6 * 1024 * 1024, gt=0, description="Largest request body, in bytes (Lambda's own limit is 6 MB).")
    function_urls: dict[str, str] = Field(default_factory=dict, description="JSON object: agent name to its function URL, for the catalog.")
    log_level: str = Field(default="INFO", description="Level of the JSON log.")

    @property
    def ttl_seconds(self) -> int | None:
        """Of threads; None keeps them."""
        return self.ttl_days * 86_400 or None

    @property
    def chat_model(self) -> str:
        """`model`, with the bare provider `openai` completed by `OPENAI_MODEL`."""
        return f"openai:{self.openai_model}" if self.model == "openai" and self.openai_model else self.model


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The process's settings, read once."""
    return Settings()
