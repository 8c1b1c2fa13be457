"""What one deployment looks like: the CDK context as one validated object, read by the stack and by the bundle builder alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from functions.settings import Settings, check_jwt, check_secrets
from graphs.catalog import AGENTS
from infra.combinations import check_environment, check_images, check_kms_keys, check_site

ROOT = Path(__file__).resolve().parents[1]
MEMORY_MB = 1024
TIMEOUT_SECONDS = 900
AUTH_MODES = get_args(Settings.model_fields["auth"].annotation)
DEPLOYABLE = tuple(name for name, spec in AGENTS.items() if spec.fits_zip)
"""Deployed where nobody names agents: those that need no container image."""
# `provider` of `AGENTS_MODEL` → the extra of pyproject.toml that carries its client
PROVIDERS = {"openai": "openai", "deepseek": "deepseek", "anthropic": "anthropic", "bedrock": "bedrock", "bedrock_converse": "bedrock"}


def extras_of(model: str, agent: str = "", auth: str = "iam") -> tuple[str, ...]:
    """The extras that a model, an agent and an auth mode need, sorted. Raises `ValueError` for a provider that no extra carries."""
    own = AGENTS[agent].extras if agent else ()
    return tuple(sorted({*own, *_extra_of_model(model), *(("jwt",) if auth == "jwt" else ())}))


def _extra_of_model(model: str) -> tuple[str, ...]:
    if model == "offline":
        return ()
    provider, _, name = model.partition(":")
    if provider not in PROVIDERS or not name:
        raise ValueError(f"no extra carries model {model!r}; write `offline`, or `provider:model` with one of {', '.join(PROVIDERS)}")
    return (PROVIDERS[provider],)


def _words(value: Any) -> Any:
    """`cdk -c agents=dev,reactAgent` arrives as one string, cdk.json's list as a list."""
    return [word for word in (w.strip() for w in value.split(",")) if word] if isinstance(value, str) else value


def _from_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Retention = Annotated[Literal[1, 7, 14, 30, 90, 180, 365], BeforeValidator(int)]
Object = Annotated[dict[str, str], BeforeValidator(_from_json)]
PerAgent = Annotated[int | dict[str, int], BeforeValidator(_from_json)]


class Deployment(BaseModel):
    """One stack's choices. Every field is a context key: `cdk deploy -c auth=none`, or cdk.json's `context`.

    Raises `pydantic.ValidationError` naming the key that is wrong.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    stack: str = Field("agents", description="Name of the CloudFormation stack.")
    agents: Words = Field(DEPLOYABLE, min_length=1, description="Which agents get a function; by default all that need no container image.")
    model: str = Field("offline", description="Chat model as `provider:model`; also decides what the bundle carries.")
    embeddings: str = Field(
        "", description="Embedding model of knowledge bases: `hashing`, or one of Bedrock beside a chat model of Bedrock."
    )
    sample_knowledge: bool = Field(True, description="Search the bundled sample documents too.")
    memory: PerAgent = Field(MEMORY_MB, description="Memory in MB (CPU grows with it); one number, or an object by agent.")
    timeout: PerAgent = Field(TIMEOUT_SECONDS, description="Longest run in seconds; one number, or an object by agent.")
    reserved_concurrency: PerAgent = Field(default_factory=dict, description="Most environments at once: one number, or an object.")
    auth: str = Field("iam", description="Who may call: `iam` signs with SigV4; the other modes open the URL and leave it to the app.")
    jwt_issuer: str = Field("", description="With auth `jwt`: the OpenID issuer, exactly as in its tokens.")
    jwt_audience: str = Field("", description="With auth `jwt`: the audience of the tokens.")
    jwt_jwks_url: str = Field("", description="With auth `jwt`: where the issuer's keys are; empty: its discovery document says it.")
    secrets: Object = Field(
        default_factory=dict,
        description="Object: environment variable to the Secrets Manager secret (name or ARN) or SSM parameter (`/name` or ARN) that has "
        "its value; the functions may read these and no others.",
    )
    environment: Object = Field(
        default_factory=dict,
        description="Object: more variables for every function, as `AGENTS_EVENTS_HOURS` or `LANGSMITH_PROJECT`; not for secrets.",
    )
    kms_keys: Words = Field((), description="ARNs of customer managed KMS keys that the secrets are encrypted with.")
    cors_origins: Words = Field((), description="Browser origins that may call the URLs; none by default.")
    site: bool = Field(False, description="Page and agents at one CloudFront address; the URLs then take requests from it alone.")
    domain: str = Field("", description="With `site`: a host name of your own for it.")
    certificate: str = Field("", description="With `domain`: ARN of its ACM certificate, in us-east-1.")
    hosted_zone: str = Field("", description="With `domain`: id of the Route 53 zone that gets its records; empty: you write them.")
    images: Object = Field(
        default_factory=dict,
        description="Object: agent to the URI of its image in ECR. Without one an agent over 250 MB is built by Docker at the deploy.",
    )
    retention_days: Retention = Field(30, description="Days that logs are kept.")
    removal: Literal["retain", "destroy"] = Field("retain", description="What `cdk destroy` does with tables and bucket.")
    table_prefix: str = Field("agents-", pattern=r"^[A-Za-z0-9_.-]*$", description="Prefix of the table names.")
    ttl_days: int = Field(0, ge=0, description="Days after its last write that a thread expires; 0 keeps it.")
    log_level: Literal["DEBUG", "INFO", "WARN", "ERROR"] = Field(
        "INFO", description="Level of the JSON log; `DEBUG` shows prompts and tool arguments."
    )
    tracing: Literal["off", "xray"] = Field("off", description="`xray`: Lambda samples requests and sends their segments to X-Ray.")
    layers: Words = Field(
        (), max_length=5, description="ARNs of layer versions for every function, as OpenTelemetry's, whose `otel-instrument` is then run."
    )
    snap_start: bool = Field(False, description="Start from a snapshot; its price is per version and month.")
    alarm_topic: str = Field("", description="ARN of the SNS topic that alarms go to; empty: they show on the dashboard only.")
    assets: Path = Field(Path("build"), description="Folder of the bundles, one per agent (`python -m infra.bundle`).")

    @field_validator("agents")
    @classmethod
    def _known(cls, agents: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in agents if name not in AGENTS]
        if unknown:
            raise ValueError(f"unknown agent {', '.join(unknown)}; known: {', '.join(AGENTS)}")
        return tuple(dict.fromkeys(agents))

    @field_validator("auth")
    @classmethod
    def _mode(cls, auth: str) -> str:
        if auth not in AUTH_MODES:
            raise ValueError(f"auth must be one of {', '.join(AUTH_MODES)}, not {auth!r}")
        return auth

    @field_validator("secrets")
    @classmethod
    def _have_names(cls, secrets: dict[str, str]) -> dict[str, str]:
        check_secrets(secrets)
        return secrets

    @field_validator("model")
    @classmethod
    def _carried(cls, model: str) -> str:
        extras_of(model)
        return model

    @field_validator("embeddings")
    @classmethod
    def _embeds(cls, embeddings: str, info: ValidationInfo) -> str:
        """The bundle carries the chat model's client alone, and the functions hold no keys."""
        if embeddings in ("", "hashing") or (
            "bedrock" in _extra_of_model(embeddings) and "bedrock" in extras_of(info.data.get("model", ""))
        ):
            return embeddings
        raise ValueError(f"{embeddings!r} cannot be deployed: write `hashing`, or a model of Bedrock where `model` is one of Bedrock too")

    @model_validator(mode="after")
    def _jwt_is_whole(self) -> Self:
        if self.auth == "jwt":
            check_jwt(self.jwt_issuer, self.jwt_audience, self.jwt_jwks_url)
        return self

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        check_site(site=self.site, auth=self.auth, domain=self.domain, certificate=self.certificate, hosted_zone=self.hosted_zone)
        check_kms_keys(self.kms_keys, self.secrets)
        check_images(self.images, self.agents)
        check_environment(self.environment)
        return self

    @property
    def keeps_data(self) -> bool:
        return self.removal == "retain"

    @property
    def signed_urls(self) -> bool:
        """Whether the function URLs ask for SigV4: the caller's own, or CloudFront's."""
        return self.auth == "iam" or self.site

    def bundle_of(self, agent: str) -> Path:
        """Absolute folder of the agent's bundle, whether or not it was built."""
        return ROOT / self.assets / agent

    def memory_of(self, agent: str) -> int:
        """Megabytes."""
        return _of(self.memory, agent) or MEMORY_MB

    def timeout_of(self, agent: str) -> int:
        """Seconds."""
        return _of(self.timeout, agent) or TIMEOUT_SECONDS

    def concurrency_of(self, agent: str) -> int | None:
        """Reserved environments, or None to share the account's."""
        return _of(self.reserved_concurrency, agent)


def _of(value: int | Mapping[str, int], agent: str) -> int | None:
    return value.get(agent) if isinstance(value, Mapping) else value


def project_context() -> dict[str, Any]:
    """cdk.json's context. The CLI hands it to the app by itself; an `App()` made in a test would not see it."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return context
