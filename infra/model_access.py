"""How a deployed function gets at its model: Bedrock takes the function's own role, every other provider wants a key."""

from __future__ import annotations

import re

BEDROCK = frozenset({"bedrock", "bedrock_converse"})
INVOKE_ACTIONS = ("InvokeModel", "InvokeModelWithResponseStream")
# `us.anthropic.…`, `eu.…`, `apac.…`, `global.…`: a profile that sends the call on to one of several regions
_PROFILE = re.compile(r"(?:[a-z]{2}(?:-gov)?|apac|global)\.")


def require_access(model: str) -> None:
    """
    Raises:
        ValueError: nothing could hand the model's provider its key. A function that answers every run with an error is no deployment.
    """
    provider = model.partition(":")[0]
    if model != "offline" and provider not in BEDROCK:
        raise ValueError(
            f"model {model!r} cannot be deployed: the function would have no {provider.upper()}_API_KEY, since this stack holds no "
            "secrets yet. Deploy `offline` or a Bedrock model (`bedrock_converse:…`, which needs no key), or run it on your own machine."
        )


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
