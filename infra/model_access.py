"""What a deployed function gets at its model and its secrets with: Bedrock takes its role, every other provider wants a key."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from functions.settings import is_parameter

BEDROCK = frozenset({"bedrock", "bedrock_converse"})
INVOKE_ACTIONS = ("InvokeModel", "InvokeModelWithResponseStream")
# `us.anthropic.…`, `eu.…`, `apac.…`, `global.…`: a profile that sends the call on to one of several regions
_PROFILE = re.compile(r"(?:[a-z]{2}(?:-gov)?|apac|global)\.")


def require_access(model: str, secrets: Collection[str]) -> None:
    """`secrets`: the variables that the function gets from secrets.

    Raises:
        ValueError: nothing could hand the model's provider its key. A function that answers every run with an error is no deployment.
    """
    provider = model.partition(":")[0]
    key = f"{provider.upper()}_API_KEY"
    if model != "offline" and provider not in BEDROCK and key not in secrets:
        raise ValueError(
            f"model {model!r} cannot be deployed: the function would have no {key}. Name the secret that holds it in the context, "
            f'`"secrets": {{"{key}": "name or ARN"}}`, or deploy `offline` or a Bedrock model (`bedrock_converse:…`, which needs no key).'
        )


def read_arns(secrets: Mapping[str, str], partition: str, region: str, account: str) -> dict[str, list[str]]:
    """The one action that each kind of source needs → the ARNs it may be used on, sorted.

    Secrets Manager adds six characters to a secret's name in its ARN: where only the name is known they may be any.
    """
    found: dict[str, list[str]] = {}
    for source in sorted(set(secrets.values())):
        action = "ssm:GetParameter" if is_parameter(source) else "secretsmanager:GetSecretValue"
        kind = "ssm:{}:{}:parameter{}" if is_parameter(source) else "secretsmanager:{}:{}:secret:{}-??????"
        arn = source if source.startswith("arn:") else f"arn:{partition}:{kind.format(region, account, source)}"
        found.setdefault(action, []).append(arn)
    return found


def decrypting(keys: Collection[str], url_suffix: str) -> dict[str, Any]:
    """The policy statement (`iam.PolicyStatement`'s arguments) that opens secrets encrypted with `keys`, and nothing else: the keys answer
    where Secrets Manager or Parameter Store of their region asks on the role's behalf."""
    regions = sorted({key.split(":")[3] for key in keys})
    services = [f"{service}.{region}.{url_suffix}" for region in regions for service in ("secretsmanager", "ssm")]
    return {"actions": ["kms:Decrypt"], "resources": sorted(keys), "conditions": {"StringEquals": {"kms:ViaService": services}}}


def invoked_arns(model: str, partition: str, region: str, account: str) -> list[str]:
    """What the role must be allowed to invoke; nothing for a model that is not Bedrock's. A model may be named by its ARN.

    Rule of Bedrock's "Prerequisites for inference profiles": the profile, and the foundation model in every region it may send the call
    to, which only AWS knows.
    """
    provider, _, name = model.partition(":")
    if provider not in BEDROCK:
        return []
    if name.startswith("arn:"):
        return [name]
    arn = f"arn:{partition}:bedrock"
    if not (profile := _PROFILE.match(name)):
        return [f"{arn}:{region}::foundation-model/{name}"]
    return [f"{arn}:{region}:{account}:inference-profile/{name}", f"{arn}:*::foundation-model/{name[profile.end() :]}"]
