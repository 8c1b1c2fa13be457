"""`python -m tests.scenarios [NAME …]`: every scenario against our rules, ag-ui-validate and both clients; exit code 1 if one objects."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.scenarios.stories import SCENARIOS
from tests.scenarios.telling import recordings_of
from tests.support.recording import Recording
from tests.support.streams import Violation, check_with_clients, violations

COLUMNS = ("our rules", "1.0.0", "0.0.59", "ag-ui-validate")
NEWER_ONLY = ("cancelled", "pendingToolCallIds")


def column(violation: Violation) -> str:
    if violation.rule.startswith("client-"):
        return violation.rule.removeprefix("client-")
    return "ag-ui-validate" if violation.rule.startswith(("AGUI", "ag-ui-validate")) else "our rules"


def is_for_newer_clients(rec: Recording) -> bool:
    outcome = rec.last.get("outcome") or {}
    return bool(rec.input.get("protocolVersion")) and (outcome.get("type") in NEWER_ONLY or any(key in outcome for key in NEWER_ONLY))


def main(names: list[str]) -> int:
    played = {name: asyncio.run(recordings_of(SCENARIOS[name])) for name in names or SCENARIOS}
    found: dict[str, list[Violation]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for name, recordings in played.items():
            for number, rec in enumerate(recordings):
                found[name] += violations(rec)
                rec.write(Path(folder) / f"{name}-{number}.jsonl")
        for file, broken in check_with_clients(Path(folder)).items():
            found[file.rpartition("-")[0]] += broken
    print(f"{'scenario':<30} {'streams':>7}  " + "  ".join(f"{title:<14}" for title in COLUMNS))
    for name, recordings in played.items():
        verdicts = {title: sum(column(v) == title for v in found[name]) for title in COLUMNS}
        newer = sum(is_for_newer_clients(rec) for rec in recordings)
        words = {title: f"{count} faults" if count else "ok" for title, count in verdicts.items()}
        words["0.0.59"] += f" ({newer} for 1.0)" if newer else ""
        print(f"{name:<30} {len(recordings):>7}  " + "  ".join(f"{words[title]:<14}" for title in COLUMNS))
    for name, broken in found.items():
        for violation in broken:
            print(f"{name}: {violation}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
