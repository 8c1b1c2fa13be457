"""What every route asks for: the agent this app serves, and who is calling."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from functions.web.principal import principal_of
from functions.web.served import Served


def install(app: FastAPI, served: Served) -> None:
    app.state.served = served
    app.state.principal_of = principal_of(served.settings)


def _served(request: Request) -> Served:
    return cast(Served, request.app.state.served)


def _caller(request: Request) -> str:
    return cast(str, request.app.state.principal_of(request))


Here = Annotated[Served, Depends(_served)]
Caller = Annotated[str, Depends(_caller)]
