"""The stream checker of the suite: rules at once, both AG-UI clients in one Node process when the session ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ag_ui_validate.pytest_plugin import validate_agui

from tests.support.node_clients import PACKAGE, run_node
from tests.support.recording import Json, Recording, Wire, recording
from tests.support.stream_rules import RULES

# Ours are finer: arguments may be the model's own bad JSON, and a raw HTTP resume need not repeat the history.
OURS_INSTEAD = {"AGUI204": "off", "AGUI207": "off"}


@dataclass(frozen=True, slots=True)
class Violation:
    """`rule` is a key of `RULES`, a rule of ag-ui-validate (`AGUI…`), or `client-<version>`."""

    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


def violations(rec: Recording) -> list[Violation]:
    """All that our rules and ag-ui-validate (errors and warnings) find; no Node involved."""
    ours = [Violation(rule, detail) for rule, find in RULES.items() for detail in find(rec)]
    report = validate_agui([_as_0_x(event) for event in rec.events], severity_overrides=OURS_INSTEAD)
    theirs = [Violation(found.rule, found.message) for found in report.diagnostics if found.severity != "info"]
    crashes = [Violation("ag-ui-validate", error) for error in report.internal_errors]
    return [*ours, *theirs, *crashes]


def _as_0_x(event: Json) -> dict[str, Any]:
    """ag-ui-validate knows AG-UI up to 0.x, where a tool's result is text only."""
    return {**event, "content": json.dumps(event["content"])} if isinstance(event.get("content"), list) else dict(event)


def check_stream(input: Wire, events: Iterable[Wire], *, raw: bytes | None = None, transient: Iterable[str] = ()) -> None:
    """Raises AssertionError listing every violation."""
    check(recording(input, events, raw=raw, transient=transient))


def check(rec: Recording) -> None:
    found = violations(rec)
    assert not found, "not a legal stream:\n" + "\n".join(f"  {violation}" for violation in found)


def check_with_clients(folder: Path) -> dict[str, list[Violation]]:
    """Play every recording of `folder` through both clients; violations by file name, only of those that failed."""
    done = run_node(PACKAGE / "stream_check.mjs", folder, timeout=300)
    *failed, summary = done.stdout.splitlines() or [""]
    if not re.fullmatch(r"\d+ passed, \d+ failed", summary):
        raise RuntimeError(f"stream_check.mjs stopped early: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    reports = (json.loads(line) for line in failed)
    return {report["file"]: [Violation(**found) for found in report["violations"]] for report in reports}


class StreamRecorder:
    """Keeps what tests streamed, one file a stream, for the clients' turn at the end of the session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def record(
        self, name: str, input: Wire, events: Iterable[Wire], *, raw: bytes | None = None, transient: Iterable[str] = ()
    ) -> Recording:
        """Check against our rules now (AssertionError), and write it down. `name` shows up in reports; it need not be unique."""
        rec = recording(input, events, raw=raw, transient=transient)
        check(rec)
        self.count += 1
        rec.write(self.folder / f"{self.count:05d}-{re.sub('[^A-Za-z0-9_.-]+', '-', name)[:80]}.jsonl")
        return rec


@pytest.fixture(scope="session")
def stream_recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamRecorder]:
    """Record every stream a test makes; one that a client refuses or warns about fails the session at its end."""
    recorder = StreamRecorder(tmp_path_factory.mktemp("streams"))
    yield recorder
    if not recorder.count:
        return
    failed = check_with_clients(recorder.folder)
    lines = [f"{file}: {violation}" for file, found in failed.items() for violation in found]
    if lines:
        pytest.fail(f"{len(failed)} of {recorder.count} recorded streams, in {recorder.folder}:\n" + "\n".join(lines), pytrace=False)
