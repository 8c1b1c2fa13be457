"""Reading a synthesised template: resources by type, and those of one agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Template = dict[str, Any]
Synth = Callable[..., Template]


def resources(template: Template, kind: str, under: str = "agents/") -> list[dict[str, Any]]:
    """Resources of a CloudFormation type whose construct path starts with `under`; logical ids carry hashes and say nothing."""
    found = template["Resources"].values()
    return [r for r in found if r["Type"] == kind and r["Metadata"]["aws:cdk:path"].startswith(under)]


def properties(template: Template, kind: str, under: str = "agents/") -> dict[str, Any]:
    """The properties of the one resource of that type under that path."""
    (only,) = resources(template, kind, under)
    found: dict[str, Any] = only["Properties"]
    return found


def variables(template: Template, agent: str) -> dict[str, Any]:
    """The environment variables of the agent's function."""
    found: dict[str, Any] = properties(template, "AWS::Lambda::Function", f"agents/{agent}/")["Environment"]["Variables"]
    return found


def actions(template: Template, agent: str) -> dict[str, set[str]]:
    """What the agent's role may do: service to actions."""
    statements = properties(template, "AWS::IAM::Policy", f"agents/{agent}/Role")["PolicyDocument"]["Statement"]
    assert all(statement["Effect"] == "Allow" for statement in statements)
    granted: dict[str, set[str]] = {}
    for statement in statements:
        named = statement["Action"]
        for action in [named] if isinstance(named, str) else named:
            service, _, name = action.partition(":")
            granted.setdefault(service, set()).add(name)
    return granted
