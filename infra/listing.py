"""What `config.json` says of an agent: the page reads it, in the local stack and behind CloudFront."""

from __future__ import annotations

from typing import Any

from graphs.catalog import AGENTS

PREFIX = "agents/"
"""Where the agents are, below the page."""


def listed(name: str, *, model: str, auth: str) -> dict[str, Any]:
    """`{name, title, description, url, offline, prompts, routes, auth?}`; `url` is relative to the page. `auth` is there for `jwt` alone,
    where the page asks for a token."""
    spec = AGENTS[name]
    return {
        "name": name,
        "title": spec.title,
        "description": spec.description,
        "url": f"{PREFIX}{name}/",
        "offline": model == "offline",
        "prompts": list(spec.prompts),
        "routes": list(spec.routes),
        **({"auth": "jwt"} if auth == "jwt" else {}),
    }
