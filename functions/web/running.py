"""What a request and the settings make of a run."""

from __future__ import annotations

from ag_ui.core import RunAgentInput
from fastapi import Request

from functions.runs import AgentRun
from functions.runs.continuing import Continuation, Ticket
from functions.runs.lease import TableLease
from functions.runs.orchestrator import Admission
from functions.runs.recording import Recorder
from functions.web.invoking import invoking
from functions.web.joins import remaining_ms
from functions.web.limits import Allowance
from functions.web.preferences import idempotency_key, wait_seconds
from functions.web.served import Served
from graphs.catalog import Options


def agent_run(
    served: Served,
    request: Request,
    who: str,
    input: RunAgentInput,
    *,
    recorder: Recorder,
    options: Options | None = None,
    lease: TableLease | None = None,
    ticket: Ticket | None = None,
    admission: Admission | None = None,
) -> AgentRun:
    """`lease` and `ticket`: of a run that another invocation has handed over."""
    chosen = served.agent.options(input) if options is None else options
    settings = served.settings
    return AgentRun(
        input,
        served.graph(who),
        agent=served.agent.spec.name,
        resolve_stream_input=served.agent.stream_input(),
        resolve_configurable=lambda _: chosen.configurable,
        recursion_limit=chosen.recursion_limit or served.agent.spec.recursion_limit,
        state_keys=served.state_keys,
        predict_state=served.agent.spec.predict_state,
        context=chosen.context,
        remaining_ms=remaining_ms(request),
        debug=settings.debug,
        lease_seconds=settings.lease_seconds,
        wait_seconds=wait_seconds(request),
        idempotency_key=idempotency_key(request) if ticket is None else ticket.key,
        code_version=settings.code_version,
        recorder=recorder,
        drain_seconds=settings.drain_seconds,
        continuation=continuation(served, request, who, input, ticket),
        lease=lease,
        admission=admission,
    )


async def closed(run: AgentRun, allowance: Allowance | None) -> None:
    """Gives its thread back, and counts what it has used for its caller."""
    await run.close()
    if allowance is not None:
        await allowance.spend(run.used)


def continuation(served: Served, request: Request, who: str, input: RunAgentInput, ticket: Ticket | None = None) -> Continuation | None:
    """None: a run ends with its invocation, since there is no function to invoke, or no events are kept."""
    settings = served.settings
    if not settings.events_hours or (invoke := invoking(request)) is None:
        return None
    return Continuation(invoke, input, who, settings.events_hours, settings.hops, ticket)
