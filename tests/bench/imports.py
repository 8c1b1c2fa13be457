"""What a cold start imports, by package: `python -X importtime` on the two bundles of `cold`, a module's own time summed by package.

The times are wall, with what the option itself costs; the parts count, not their sum.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.cold import AGENT, own_keys
from tests.bench.cold_bundles import PEER_APP, peer_bundle
from tests.bench.report import Measured, Row
from tests.support.bundles import bundle_here, lambda_python
from tests.support.lambda_place import function_config, variables

SHOWN = 18
REST = "the others"
Cost = tuple[float, int]
"""Milliseconds of a package's modules, and their number."""
NOTHING: Cost = (0.0, 0)
_LINE = re.compile(r"import time: +(\d+) \| +\d+ \| *(\S+)")


def measure_imports(rounds: int) -> Measured:
    """A row a package: milliseconds and modules in ours and in the peer; those of the standard library in one row."""
    own_keys()
    ours, peer = bundle_here(AGENT), peer_bundle(AGENT)
    with tempfile.TemporaryDirectory() as folder:
        mine = [_imported(Path(folder), [ours], "import functions.runtime.__main__ as main; main.loaded()") for _ in range(rounds)]
        theirs = [_imported(Path(folder), [peer, peer / PEER_APP.parent], f"import uvicorn, {PEER_APP.stem}") for _ in range(rounds)]
    return Measured("imports", f"Imports at the start of `{AGENT}`, milliseconds by package", _rows(mine, theirs), [], "ms")


def _imported(folder: Path, paths: Sequence[Path], code: str) -> Mapping[str, Cost]:
    """Package → milliseconds of its modules and their number."""
    config = {**function_config(AGENT, "http://127.0.0.1:9"), "PEER_TABLE": "none", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [lambda_python(), "-X", "importtime", "-c", code]
    done = subprocess.run(command, cwd=folder, env=variables(str(paths[0]), "127.0.0.1:9", config), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{code!r} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return by_package(done.stderr)


def by_package(report: str) -> dict[str, Cost]:
    """What `-X importtime` wrote → package → milliseconds and modules. `python` is the standard library."""
    times: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for own, name in _LINE.findall(report):
        package = _package(name)
        times[package] += int(own)
        modules[package] += 1
    return {package: (microseconds / 1000, modules[package]) for package, microseconds in times.items()}


def _package(module: str) -> str:
    top = module.partition(".")[0]
    return "python" if top in sys.stdlib_module_names or top.startswith("_") else top


def _rows(mine: Sequence[Mapping[str, Cost]], theirs: Sequence[Mapping[str, Cost]]) -> list[Row]:
    ours, peer = _least(mine), _least(theirs)
    names = sorted({*ours, *peer}, key=lambda name: -max(ours.get(name, NOTHING)[0], peer.get(name, NOTHING)[0]))
    rows = [_row(name, ours.get(name, NOTHING), peer.get(name, NOTHING)) for name in names]
    rest = {column: round(sum(row[column] for row in rows[SHOWN:]), 1) for column in rows[0] if column != "package"}
    return [*rows[:SHOWN], {"package": REST, **rest}]


def _row(name: str, ours: Cost, peer: Cost) -> Row:
    return {"package": name, "ms": round(ours[0], 1), "modules": ours[1], "peer_ms": round(peer[0], 1), "peer_modules": peer[1]}


def _least(taken: Sequence[Mapping[str, Cost]]) -> dict[str, Cost]:
    """Of a package the round in which it took least: what is above that is the machine's noise."""
    return {name: min(one[name] for one in taken) for name in taken[0]}
