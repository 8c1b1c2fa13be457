"""What `cdk deploy` uploads for each agent: sizes, and that a second build in another folder is the same byte for byte."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from graphs.catalog import AGENTS
from infra.bundle import build, size_of
from infra.deployment import DEPLOYABLE
from tests.bench.report import Check, Measured, Row
from tests.support.lambda_place import digest

MIB = 2**20
UNZIPPED, ZIPPED = 60.0, 22.0
"""MiB at most, of an agent without extras."""


def measure_bundles(agents: Iterable[str] = DEPLOYABLE) -> Measured:
    """A row an agent, with the offline model; `sha256` is of names, modes and bytes. The limits are for agents without extras."""
    rows = [_row(agent) for agent in agents]
    basic = [row for row in rows if not AGENTS[row["agent"]].extras]
    checks = [
        Check("the largest bundle without extras", max(row["mib"] for row in basic), UNZIPPED, "MiB"),
        Check("the same zipped", max(row["zipped_mib"] for row in basic), ZIPPED, "MiB"),
        Check("second builds that differ", sum(row["again"] != "same" for row in rows), 0, "bundles"),
    ]
    return Measured("bundles", "Bundles for arm64 and Python 3.13, model `offline`", rows, checks, "mib")


def _row(agent: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "task", Path(folder) / "some" / "where" / "else"
        for out in (first, second):
            build(agent, out)
        files = [path for path in first.rglob("*") if path.is_file()]
        return {
            "agent": agent,
            "mib": round(size_of(first) / MIB, 1),
            "zipped_mib": round(_zipped(first, files) / MIB, 1),
            "files": len(files),
            "sha256": digest(first),
            "again": "same" if digest(first) == digest(second) else "DIFFERENT",
        }


def _zipped(root: Path, files: Iterable[Path]) -> int:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            archive.writestr(path.relative_to(root).as_posix(), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return len(packed.getvalue())
