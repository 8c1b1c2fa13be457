"""What every route asks for: the agent this app serves, and who is calling."""

from __future__ import annotations

import asyncio
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from functions.web.principal import principal_of
from functions.web.served import Served


def install(app: FastAPI, served: Served) -> None:
    app.state.served = served
    rule = principal_of(served.settings)

    async def from_the_token(request: Request) -> str:
        # its issuer's keys may have to be read first
        return await asyncio.to_thread(rule, request)

    async def from_the_event(request: Request) -> str:
        return rule(request)

    app.state.principal_of = from_the_token if served.settings.auth == "jwt" else from_the_event


async def _served(request: Request) -> Served:
    return cast(Served, request.app.state.served)


async def _caller(request: Request) -> str:
    return cast(str, await request.app.state.principal_of(request))


Here = Annotated[Served, Depends(_served)]
Caller = Annotated[str, Depends(_caller)]
