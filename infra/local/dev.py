"""`agents dev`: the whole stack on this machine. client → front → worker → store, each a process of its own but the front."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from functions.settings import Settings, get_settings
from graphs.catalog import AGENTS
from infra.listing import listed
from infra.local.cors import LOOPBACK, Cors
from infra.local.front import Front, Site
from infra.local.listener import bind
from infra.local.output import Console
from infra.local.own_events import OwnEvents
from infra.local.pool import Limits, Pool
from infra.local.process import ROOT
from infra.local.reload import PAGE, affected, changes, code_version, folders
from infra.local.server import make_server
from infra.local.signals import first_of, stop_signals
from infra.local.store import Store
from infra.local.variables import FunctionVariables, bare, data_folder, user_variables


@dataclass(frozen=True, slots=True)
class Options:
    """What `agents dev` was asked for. `agents` in the order they are shown; `data` None keeps nothing.

    `cors_origins` are allowed beside those of this machine.
    """

    port: int = 8000
    host: str = "127.0.0.1"
    agents: tuple[str, ...] = tuple(AGENTS)
    data: Path | None = field(default_factory=data_folder)
    verbose: bool = False
    cors_origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    watched: tuple[Path, ...] = (ROOT / "graphs", ROOT / "functions")


async def dev(options: Options) -> bool:
    """Runs until SIGINT or SIGTERM, also while it starts; False if the store ended before.

    Raises `PortInUse`, `StoreFailed`, `pydantic.ValidationError` or `pydantic_settings.SettingsError` for a wrong setting.
    """
    console = Console(verbose=options.verbose)
    settings = get_settings()
    user = user_variables()
    base = bare(user, proxies=settings.model != "offline")
    with bind(options.host, options.port) as listener, stop_signals() as stop:
        url = address(listener)
        urls = {name: f"{url}/agents/{name}/" for name in options.agents}
        console.say(f"Starting the store and {options.limits.spares} workers …")
        began = time.monotonic()
        async with opening(options.data, settings.table_prefix, base, console) as store:
            variables = LateVariables(user, base, store, urls, settings.chat_model)
            async with workers(variables, base, console, options.limits) as pool:
                own = OwnEvents(pool.invoke, console)
                variables.own_events = f"{url}{own.prefix}"
                await first_of(stop, store)
                if not store.done():
                    console.say("Stopping …")
                    return True
                data = store.result()
                front = Front(pool, site(options, settings, listener), console, own)
                async with serving(front, listener), reloading(pool, options, console):
                    console.say(greeting(url, urls, settings, options.data, time.monotonic() - began))
                    await first_of(stop, data.process.exited)
                    console.say("Stopping …" if stop.is_set() else "The store has ended, so all of it ends.")
                    return stop.is_set()


@dataclass(slots=True)
class LateVariables:
    """The functions' environment, known once the store is open: no worker gets an agent before."""

    user: Mapping[str, str]
    base: Mapping[str, str]
    store: asyncio.Task[Store]
    urls: Mapping[str, str]
    model: str
    own_events: str = ""

    def __call__(self, agent: str) -> dict[str, str]:
        version = {"AGENTS_CODE_VERSION": code_version(agent, folders({name: spec.module for name, spec in AGENTS.items()}))}
        return version | FunctionVariables(self.user, self.base, self.store.result().address, self.urls, self.model, self.own_events)(agent)


@asynccontextmanager
async def opening(folder: Path | None, table_prefix: str, env: Mapping[str, str], console: Console) -> AsyncIterator[asyncio.Task[Store]]:
    """The store as it opens, stopped at the end."""
    task = asyncio.create_task(Store.start(folder, table_prefix=table_prefix, env=env, output=console.voice("store")))
    try:
        yield task
    finally:
        if task.done() and not task.exception():
            await task.result().stop()
        else:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def workers(variables: LateVariables, env: Mapping[str, str], console: Console, limits: Limits) -> AsyncIterator[Pool]:
    """The pool, its spares importing at once."""
    pool = Pool(variables, bare=env, console=console, limits=limits)
    pool.fill_spares()
    try:
        yield pool
    finally:
        await pool.close()


@asynccontextmanager
async def serving(front: Front, listener: socket.socket) -> AsyncIterator[None]:
    server = make_server(front)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def reloading(pool: Pool, options: Options, console: Console) -> AsyncIterator[None]:
    """Recycles workers whose code changes."""
    agents = folders({name: AGENTS[name].module for name in options.agents})

    async def follow() -> None:
        async for files in changes(options.watched):
            if names := affected(files, agents):
                pool.recycle(names)
                console.say(f"Reloaded {', '.join(sorted(names))}: {', '.join(sorted(file.name for file in files))} changed.")

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            console.say(f"Files are no longer watched: {error!r}")

    task = asyncio.create_task(follow())
    task.add_done_callback(ended)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def site(options: Options, settings: Settings, listener: socket.socket) -> Site:
    agents = {
        name: listed(name, model=settings.model, auth=settings.auth) | {"unavailable": AGENTS[name].unavailable(settings.chat_model)}
        for name in options.agents
    }
    cors = Cors(allow_origins=options.cors_origins, loopback=True)
    return Site(agents=agents, page=PAGE, cors=cors, hosts=hosts(options.host, listener))


def hosts(asked: str, listener: socket.socket) -> frozenset[str] | None:
    """The `Host` names that are answered: where only this machine can come, its own; elsewhere any, whatever others call it."""
    bound = listener.getsockname()[0]
    return LOOPBACK | {asked.lower(), bound} if ip_address(bound).is_loopback else None


def greeting(url: str, urls: Mapping[str, str], settings: Settings, data: Path | None, seconds: float) -> str:
    """What is printed when everything answers."""
    width = max(len(label) for label in (*urls, "Model"))
    model = "offline: scripted answers, no real model (set AGENTS_MODEL)" if settings.model == "offline" else settings.chat_model
    lines = [
        f"Ready in {seconds:.1f} s.",
        "",
        f"  {'Page':<{width}}  {url}/",
        *(f"  {name:<{width}}  {address}" for name, address in urls.items()),
        *(f"  {'':<{width}}  {reason}" for name in urls if (reason := AGENTS[name].unavailable(settings.chat_model))),
        f"  {'Model':<{width}}  {model}",
        f"  {'Data':<{width}}  {data or 'kept in memory only'}",
        "",
        "Ctrl-C ends everything.",
    ]
    return "\n".join(lines)


def address(listener: socket.socket) -> str:
    """Always the number, never `localhost`: that may be ::1, where nobody listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
