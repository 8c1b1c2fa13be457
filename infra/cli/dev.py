"""`agents dev`."""

from __future__ import annotations

import asyncio
from typing import Annotated, NoReturn

import typer

STORE_ADVICE = "End the other one, set AGENTS_DATA_DIR to another folder, or keep no data: agents dev --ephemeral"


def dev(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page and of the function URLs; 0 takes a free one.")] = 8000,
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent; may be given several times.")] = None,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Keep no data.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show everything the workers log.")] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Anything but 127.0.0.1 lets others in: nobody is asked who they are.")
    ] = "127.0.0.1",
    timeout: Annotated[int, typer.Option(min=1, max=900, help="Seconds that an invocation may take, as on Lambda.")] = 900,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="Most worker processes at a time, over all agents: a request beyond waits for one.")
    ] = 4,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(help="Pages of this origin may call the agents, beside those of this machine; several times, * for any."),
    ] = None,
) -> None:
    """The whole stack on this machine: page, function URLs, workers, DynamoDB. No key, no Docker, no AWS account."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from infra.local import dev as stack
    from infra.local.listener import PortInUse
    from infra.local.pool import Limits
    from infra.local.store import StoreFailed
    from infra.local.variables import data_folder

    options = stack.Options(
        port=port,
        host=host,
        agents=_known(agent),
        data=None if ephemeral else data_folder(),
        verbose=verbose,
        cors_origins=tuple(cors_origin or ()),
        limits=Limits(maximum=workers, spares=min(2, workers), timeout_ms=timeout * 1_000),
    )
    try:
        ended_well = asyncio.run(stack.dev(options))
    except PortInUse as exc:
        _fail(str(exc), code=2)
    except StoreFailed as exc:
        _fail(f"The store did not start: {exc}\n{STORE_ADVICE}")
    except (ValidationError, SettingsError) as exc:
        _fail(f"A setting is wrong.\n{exc}", code=2)
    except OSError as exc:
        _fail(f"Cannot listen on {host}: {exc}", code=2)
    raise typer.Exit(0 if ended_well else 1)


def _known(names: list[str] | None) -> tuple[str, ...]:
    """The asked for agents in the registry's order. Raises `typer.BadParameter` for an unknown one."""
    from graphs.catalog import AGENTS

    if not names:
        return tuple(AGENTS)
    wanted = {part.strip() for name in names for part in name.split(",") if part.strip()}
    if unknown := wanted - set(AGENTS):
        raise typer.BadParameter(f"there is no agent {', '.join(sorted(unknown))}; there is {', '.join(AGENTS)}", param_hint="--agent")
    return tuple(name for name in AGENTS if name in wanted)


def _fail(message: str, *, code: int = 1) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)
