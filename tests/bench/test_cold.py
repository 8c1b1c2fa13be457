"""The cold start's measurements run from end to end, once each, with every row. No time is tested."""

from __future__ import annotations

import pytest

from tests.bench.bundles import measure_bundles
from tests.bench.cold import ENGINE, OURS, PEER, PYTHON, measure_cold
from tests.bench.imports import REST, SHOWN, by_package, measure_imports
from tests.bench.plot import panels
from tests.bench.restore import measure_restore
from tests.support import clones

REPORT = """import time: self [us] | cumulative | imported package
import time:       579 |       2579 |     langgraph_sdk._async.threads
import time:      1000 |       2000 |   langgraph_sdk
import time:       250 |        250 | json.decoder
import time:       250 |        250 |   _json
{"level":"INFO","message":"a line of the program's own"}
"""


def test_a_report_is_summed_by_package() -> None:
    """A module's own time counts for its top package; the standard library is one."""
    assert by_package(REPORT) == {"langgraph_sdk": (1.579, 2), "python": (0.5, 2)}


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_cold_starts_take_turns() -> None:
    """Both stacks reach their first event, beside the interpreter and the engine alone; the ratio has a limit, and all of it is drawn."""
    measured = await measure_cold(rounds=1)
    assert [row["way"] for row in measured.rows] == [PYTHON, ENGINE, OURS, PEER]
    assert [check.limit for check in measured.checks] == [0.85]
    assert len(panels({"cold": measured.as_json()})[0].bars) == 4


@pytest.mark.long
@pytest.mark.timeout(600)
def test_imports_are_measured_by_package() -> None:
    """The packages of both bundles; ours has nothing of the peer's, nor boto3."""
    rows = {row["package"]: row for row in measure_imports(rounds=1).rows}
    assert (len(rows), list(rows)[-1]) == (SHOWN + 1, REST)
    assert rows["langsmith"]["modules"] == rows["langsmith"]["peer_modules"]
    assert rows["langgraph_checkpoint_aws"]["modules"] == 0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(not clones.AVAILABLE, reason="a process is cloned by Linux's fork")
async def test_restores_are_measured() -> None:
    """A row per stretch, and the limit of 100 ms."""
    measured = await measure_restore(rounds=1)
    assert [bool(row["ms"]) for row in measured.rows] == [True] * 4
    assert [(check.limit, check.unit) for check in measured.checks] == [(100.0, "ms")]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_bundles_are_within_their_limits() -> None:
    """Sizes and hashes are no matter of time: no limit is broken, and the second build is the first."""
    measured = measure_bundles(["dev"])
    assert [str(check) for check in measured.checks if check.value > check.limit] == []
