"""The function invokes itself: asynchronously, with an event of its own (`functions.own_event`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.session import get_session
from fastapi import Request

from functions.own_event import KEY
from functions.store.clients import region

if TYPE_CHECKING:
    from functions.runs.continuing import Invoke

CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
"""Within what a run keeps back before its deadline."""


def invoking(request: Request) -> Invoke | None:
    """None: this is no invocation of a function that could be invoked again."""
    arn = getattr(request.scope.get("aws.context"), "invoked_function_arn", "")
    if not arn:
        return None

    async def invoke(told: Mapping[str, Any]) -> None:
        payload = json.dumps({KEY: told}).encode()
        await asyncio.to_thread(_client().invoke, FunctionName=arn, InvocationType="Event", Payload=payload)

    return invoke


@cache
def _client() -> Any:
    """Cached: few runs need one, and one needs it again."""
    return get_session().create_client("lambda", config=CONFIG, region_name=region())
