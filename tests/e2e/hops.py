"""`python -m tests.e2e.hops`: what becomes of a run that outlasts its invocation, for whoever stays, joins, reads it afterwards, stops it,
or has its worker killed. Written to `results/hops.txt`."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from tests.e2e.survival import table
from tests.e2e.test_hops import DRAIN, TIMEOUT, asking, followed, processes_of, ran
from tests.support.agui_http import Conversation
from tests.support.joining import events_url, frames, number_of, said, stream
from tests.support.local_stack import Stack, running_stack
from tests.support.recording import Json
from tests.support.sse import read_sse
from tests.support.steps import STEPS
from tests.support.streams import StreamRecorder

RESULTS = Path(__file__).parent / "results" / "hops.txt"
HEAD = ("what happens", "invocations", "processes", "events", "same stream", "steps done", "done twice", "ends with", "then")
Row = tuple[object, ...]


class Case:
    """One run of a thread of its own; what its steps have done is in `steps`."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.stack, self.steps = stack, folder / "ran"
        self.steps.unlink(missing_ok=True)
        self.talk = Conversation(stack.agent("dev"), StreamRecorder(folder))
        self.input: Json = asking(self.talk, "go on")

    def row(self, what: str, raw: bytes, *, same: bool | None = None, then: str = "") -> Row:
        events, done = read_sse(raw), ran(self.steps, "done")
        whole = [number_of(frame) for frame in frames(raw)] == list(range(1, len(events) + 1))
        end = events[-1].get("code") or (events[-1].get("outcome") or {}).get("type") or "(its worker's death)"
        hops = sum('"outcome":"continued"' in line and self.input["runId"] in line for line in self.stack.printed().splitlines())
        alike = "" if same is None else "yes" if same and whole else "NO"
        twice = len(done) - len(set(done))
        return (what, hops + 1, len(processes_of(self.steps)), len(events), alike, f"{len(set(done))} of {STEPS}", twice, end, then)

    def after_a_hop(self) -> None:
        until = time.monotonic() + 60
        while len(processes_of(self.steps)) < 2 and time.monotonic() < until:
            time.sleep(0.1)


def stays_joins_reads(case: Case) -> Iterator[Row]:
    with stream(case.talk.url, case.input) as stays:
        left_at = stays.wait_for(8)
        with stream(events_url(case.talk.url, case.input, left_at)) as joins:
            rest = followed(case.talk, case.input, joins)
        whole = followed(case.talk, case.input, stays)
    with stream(events_url(case.talk.url, case.input, 0)) as replay:
        again = said(replay.to_the_end())
    yield case.row("nobody leaves", whole, same=True, then=_goes_on(case))
    yield case.row(f"left after event {left_at}, joined elsewhere", whole, same=whole.endswith(rest))
    yield case.row("read afterwards", again, same=again == whole)


def in_the_background(case: Case) -> Iterator[Row]:
    answer = httpx.post(case.talk.url, json=case.input, headers={"prefer": "respond-async"}, trust_env=False)
    with stream(f"{case.talk.url}{answer.headers['location']}") as found:
        yield case.row(f"nobody waits ({answer.status_code})", followed(case.talk, case.input, found), same=True, then=_goes_on(case))


def a_long_step(case: Case) -> Iterator[Row]:
    case.input = asking(case.talk, "slow 3")
    with stream(case.talk.url, case.input) as found:
        yield case.row("a step longer than what is left", found.to_the_end(), same=True)


def stopped(case: Case) -> Iterator[Row]:
    with stream(case.talk.url, case.input) as found:
        case.after_a_hop()
        answer = httpx.post(f"{case.talk.url}threads/{case.input['threadId']}/stop", trust_env=False)
        yield case.row(f"stopped after a hop ({answer.status_code})", followed(case.talk, case.input, found), same=True)


def killed(case: Case) -> Iterator[Row]:
    with stream(case.talk.url, case.input) as found:
        case.after_a_hop()
        os.kill(int(processes_of(case.steps)[-1]), signal.SIGKILL)
        raw = followed(case.talk, case.input, found)
    rest = {**case.input, "messages": [], "runId": "rest"}
    with stream(events_url(case.talk.url, case.input, 0)) as again:
        code = read_sse(again.to_the_end())[-1]["code"]
    with stream(case.talk.url, rest) as found:
        end = read_sse(followed(case.talk, rest, found))[-1]
    yield case.row("killed after a hop", raw, then=f"{code} for who joins; an empty run: {(end.get('outcome') or {}).get('type')}")


CASES: tuple[Callable[[Case], Iterator[Row]], ...] = (stays_joins_reads, in_the_background, a_long_step, stopped, killed)


def rows(folder: Path) -> Iterator[Row]:
    more = {"_HANDLER": "tests.support.steps_app.app", "AGENTS_STEPS_FILE": str(folder / "ran"), "AGENTS_DRAIN_SECONDS": str(DRAIN)}
    with running_stack(folder, "--ephemeral", "--timeout", str(TIMEOUT), "--verbose", AGENTS_LEASE_SECONDS="4", **more) as stack:
        for case in CASES:
            yield from case(Case(stack, folder))


def _goes_on(case: Case) -> str:
    """What the thread says of the run."""
    return f"{len(case.talk.stored()['messages']) - 1} answers stored"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = table([HEAD, *(tuple(map(str, row)) for row in rows(Path(folder)))])
    RESULTS.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
