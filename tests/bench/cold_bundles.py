"""The two bundles whose cold starts are compared: ours as it is shipped, and the peer's, made by the same recipe of the same lock."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from infra import bundle
from infra.deployment import ROOT
from infra.toolchain import run, uv
from tests.support.bundles import FOLDER, here, lambda_python

PEER_APP = Path("tests/bench/cold_peer.py")
_STAMP = ".inputs"


def peer_bundle(agent: str) -> Path:
    """ag-ui-langgraph, FastAPI, uvicorn and langgraph-checkpoint-aws (the `peer` group), and the graph of `agent`. Kept until an input
    changes. Its app is `cold_peer:app`."""
    shape = ["--frozen", "--only-group", "peer", "--no-emit-project", "--no-header", "--no-annotate"]
    requirements = run([uv(), "export", "-q", "--project", str(ROOT), *shape])
    code = [path for path in bundle.code_of(agent) if path.parts[0] == "graphs"] + [PEER_APP]
    folder, inputs = FOLDER / "peer", _digest(requirements, [*code, Path("infra/bundle.py"), Path("infra/prune.py")])
    if not (folder / _STAMP).is_file() or (folder / _STAMP).read_text(encoding="utf-8") != inputs:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        bundle.assemble(folder / "task", requirements, here(), lambda_python(), code=code)
        (folder / _STAMP).write_text(inputs, encoding="utf-8")
    return folder / "task"


def _digest(requirements: str, files: list[Path]) -> str:
    whole = hashlib.sha256(requirements.encode())
    for path in files:
        whole.update(f"\0{path.as_posix()}\0".encode() + (ROOT / path).read_bytes())
    return whole.hexdigest()
