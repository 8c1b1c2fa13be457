"""`python -m tests.e2e.survival`: what becomes of a run whose client leaves, or whose worker is killed, at each moment of it.

Written to `results/survival.txt`: joined by another worker process, is it the same stream, how does it end, and does the thread go on?
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.agui_http import Conversation
from tests.support.joining import events_url, frames, number_of, said, stream
from tests.support.local_stack import running_stack
from tests.support.recording import Json
from tests.support.sse import read_sse
from tests.support.streams import StreamRecorder

RESULTS = Path(__file__).parent / "results" / "survival.txt"
MOMENTS = {"at its first event": 1, "in the first second": 6, "in the middle": 22, "near its end": 41}
"""Events that have come."""
COUNT, DELAY_MS, LEASE = 40, "60", "4"
HEAD = ("what happens", "when", "joined after", "by another worker", "same bytes", "ends with", "seconds", "thread goes on")


def rows(folder: Path) -> Iterator[tuple[object, ...]]:
    with running_stack(folder, "--ephemeral", AGENTS_OFFLINE_DELAY_MS=DELAY_MS, AGENTS_LEASE_SECONDS=LEASE) as stack:
        for killed in (False, True):
            for when, events in MOMENTS.items():
                talk = Conversation(stack.agent("reactAgent"), StreamRecorder(folder))
                yield ("worker killed" if killed else "client leaves", when, *_row(talk, events, killed=killed))


def _row(talk: Conversation, events: int, *, killed: bool) -> tuple[object, ...]:
    input: Json = talk.input(messages=[{"id": "u", "role": "user", "content": f"count to {COUNT}"}])
    with stream(talk.url, input) as left:
        number = left.wait_for(events)
        had = b"".join(frame for frame in frames(left.raw) if number_of(frame) <= number)
        if killed:
            os.kill(int(left.pid), signal.SIGKILL)
    since = time.monotonic()
    with stream(events_url(talk.url, input, number)) as again:
        rest = said(again.to_the_end())
        other = again.pid != left.pid
    with stream(events_url(talk.url, input, 0)) as replay:
        whole = said(replay.to_the_end())
    end = read_sse(rest)[-1]
    seconds = round(time.monotonic() - since, 1)
    kept = b"".join(frame for frame in frames(whole) if frame.startswith(b"id: "))
    same = had.startswith(kept) or had + rest == whole if killed else had + rest == whole
    goes_on = talk.run(talk.input(messages=[], runId="next")).outcome if killed else talk.say("count to 3").outcome
    return number, _yes(other), _yes(same), end.get("code") or end["outcome"]["type"], seconds, goes_on


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def table(lines: Sequence[Sequence[str]]) -> str:
    """Rows of as many cells each, in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = table([HEAD, *(tuple(map(str, row)) for row in rows(Path(folder)))])
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
