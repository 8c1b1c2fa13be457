"""What cannot be deployed together, each said with what to do instead. All raise `ValueError`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping

from pydantic import ValidationError

from functions.settings import Settings

ECR_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/(?P<name>[a-z0-9._/-]+)"
    r"(?::(?P<tag>[\w.-]{1,128})|@(?P<digest>sha256:[0-9a-f]{64}))"
)
_HOST = re.compile(r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate/[0-9a-f-]+")
_ZONE = re.compile(r"Z[A-Z0-9]+")
# a statement about an alias opens nothing: KMS looks at the key's own ARN
_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+")

_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LAMBDAS_OWN = re.compile(r"(?:AWS|LAMBDA)_.*|TZ|PATH|PYTHONPATH|LD_LIBRARY_PATH")
_SECRET = re.compile(r"(?:^|_)(?:API_?KEY|KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS?)S?(?:$|_)", re.IGNORECASE)
_BY_THE_OPTION = "use the option `{}` of the context"
THE_STACKS = {
    **{
        f"AGENTS_{name.upper()}": _BY_THE_OPTION.format(name)
        for name in ("model", "embeddings", "sample_knowledge", "table_prefix", "auth", "ttl_days", "log_level")
    },
    **{f"AGENTS_JWT_{name}": _BY_THE_OPTION.format(f"jwt_{name.lower()}") for name in ("ISSUER", "AUDIENCE", "JWKS_URL")},
    "AGENTS_SECRETS": _BY_THE_OPTION.format("secrets"),
    "AGENTS_NAME": "every function has its own",
    "AGENTS_BUCKET": "the bucket is the stack's",
    "AGENTS_METRICS_NAMESPACE": "it is the stack's name (option `stack`)",
    "AGENTS_CODE_VERSION": "it is the function's version",
    "AGENTS_FUNCTION_URLS": "addresses are known after the deploy",
    "AGENTS_CORS": _BY_THE_OPTION.format("cors_origins"),
}
"""Variables with a value of the stack's own, and what to do instead."""


def check_site(*, site: bool, auth: str, domain: str, certificate: str, hosted_zone: str) -> None:
    """The page's address and who may call it.

    CloudFront signs what it sends to a function URL, so the IAM identity there is the distribution's, whoever asked.
    """
    if site and auth == "iam":
        raise ValueError(
            "site does not go with auth iam: CloudFront signs every request itself, so all its visitors would be one caller and see each "
            "other's threads. Use auth jwt, where the token says who asks; or auth none, if that is what you want; or iam without site"
        )
    for name, value in (("domain", domain), ("certificate", certificate), ("hosted_zone", hosted_zone)):
        if value and not site:
            raise ValueError(f"{name} is of CloudFront's address, and there is none: set site to true too")
    if bool(domain) != bool(certificate):
        raise ValueError("domain and certificate go together: the certificate is the domain's, from ACM in us-east-1")
    if hosted_zone and not domain:
        raise ValueError("hosted_zone is where the domain's records go: name the domain")
    if domain and not _HOST.fullmatch(domain):
        raise ValueError(f"domain {domain!r} is no host name, as agents.example.com is one")
    if certificate and not _CERTIFICATE.fullmatch(certificate):
        raise ValueError(f"certificate {certificate!r} is no ARN of ACM in us-east-1, where CloudFront looks for it")
    if hosted_zone and not _ZONE.fullmatch(hosted_zone):
        raise ValueError(f"hosted_zone {hosted_zone!r} is no id of a Route 53 zone, which begins with Z")


def check_kms_keys(keys: Collection[str], secrets: Mapping[str, str]) -> None:
    """Keys open secrets alone, so there must be some."""
    if wrong := [key for key in keys if not _KEY.fullmatch(key)]:
        raise ValueError(f"kms_keys: {', '.join(wrong)} is no ARN of a key (…:key/…; an alias does not do)")
    if keys and not secrets:
        raise ValueError("kms_keys without secrets: there is nothing that they would decrypt")


def check_images(images: Mapping[str, str], agents: Collection[str]) -> None:
    """Images in ECR, of agents that are deployed."""
    if strangers := sorted(images.keys() - set(agents)):
        raise ValueError(f"images: {', '.join(strangers)} is not among the agents of this deployment")
    for agent, uri in images.items():
        if not ECR_IMAGE.fullmatch(uri):
            raise ValueError(
                f"images: {uri!r} of {agent} is no image in ECR, as 123456789012.dkr.ecr.eu-west-1.amazonaws.com/agents@sha256:… is; "
                "Lambda takes no other registry"
            )


def check_environment(environment: Mapping[str, str]) -> None:
    """Variables for what no option of the stack says: the functions' settings that it leaves alone, LangSmith's, OpenTelemetry's."""
    settings = {str(field.validation_alias or f"AGENTS_{name.upper()}") for name, field in Settings.model_fields.items()}
    for name, value in environment.items():
        if not _VARIABLE.fullmatch(name) or _LAMBDAS_OWN.fullmatch(name):
            raise ValueError(f"environment: {name!r} is no variable that a function may be given: Lambda has it for itself")
        if _SECRET.search(name):
            raise ValueError(
                f"environment: {name} sounds like a secret, and everybody who may read the function's configuration would see it. Put it "
                f'into Secrets Manager or Parameter Store and name that: "secrets": {{"{name}": "/agents/{name.lower()}"}}'
            )
        if name in THE_STACKS:
            raise ValueError(f"environment: {name} is set by the stack itself; {THE_STACKS[name]}")
        if name.startswith("AGENTS_") and name not in settings:
            near = difflib.get_close_matches(name, settings, n=1)
            raise ValueError(f"environment: there is no setting {name}{f'; is it {near[0]}?' if near else ''}")
        try:
            Settings.model_construct().overlaid({name: value})
        except ValidationError as error:
            raise ValueError(f"environment: {name} cannot be {value!r}: {error.errors()[0]['msg']}") from error
