"""A changed file ends the workers that hold the old code."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.local.dev import Options, reloading
from infra.local.output import Console
from infra.local.pool import Limits
from infra.local.process import ROOT
from infra.local.reload import affected, code_version, folders

from .conftest import Workers, eventually

AGENTS = folders({"dev": "graphs.dev.graph:build", "reactAgent": "graphs.react.graph:build"})


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (["graphs/dev/graph.py"], {"dev"}),
        (["graphs/react/prompts.md"], {"reactAgent"}),
        (["graphs/hitl.py"], {"dev", "reactAgent"}),
        (["functions/web/app.py"], {"dev", "reactAgent"}),
        (["graphs/dev/graph.py", "graphs/react/graph.py"], {"dev", "reactAgent"}),
        (["functions/web/page/app.js"], set()),
        (["functions/web/page/data.json"], set()),
        (["graphs/dev/.graph.py.swp"], set()),
        (["graphs/dev/sedXYZ"], set()),
    ],
)
def test_affected(changed: list[str], expected: set[str]) -> None:
    """An agent's own folder is its own, the rest is everybody's; the page and editors' leftovers are nobody's."""
    assert affected([ROOT / path for path in changed], AGENTS) == expected


def test_an_agents_code_has_a_version_of_its_own(tmp_path: Path) -> None:
    """It is the same until a file changes that the agent's workers are recycled for."""
    agents = folders({"dev": "graphs.dev.graph:build", "reactAgent": "graphs.react.graph:build"}, tmp_path)
    for name in ("graphs/dev/graph.py", "graphs/react/graph.py", "functions/entry.py", "functions/web/page/main.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old")

    def versions() -> list[str]:
        return [code_version(agent, agents, tmp_path) for agent in ("dev", "reactAgent")]

    first = versions()
    (tmp_path / "functions/web/page/main.js").write_text("newer")
    assert versions() == first
    (tmp_path / "graphs/dev/graph.py").write_text("newer")
    dev, react = versions()
    assert (dev != first[0], react) == (True, first[1])
    (tmp_path / "functions/entry.py").write_text("newer")
    assert versions()[1] != first[1]


async def test_the_next_request_runs_the_new_code(workers: Workers, tmp_path: Path) -> None:
    """After a file is saved the next answer comes from a new process with the new code, and the terminal says why."""
    code = (
        "async def app(scope, receive, send):\n"
        "    if scope['type'] == 'lifespan':\n"
        "        raise NotImplementedError\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
        "    await send({'type': 'http.response.body', 'body': b'%s'})\n"
    )
    module = tmp_path / "reloaded_app.py"
    module.write_text(code % "old")
    pool = workers.pool(Limits(spares=0), handler="reloaded_app.app", PYTHONPATH=str(tmp_path))
    options = Options(agents=("dev",), watched=(tmp_path,))
    console = Console(write=workers.said.append)
    async with workers.front(pool, "dev") as client, reloading(pool, options, console):
        before = await client.get("/agents/dev/")
        module.write_text(code % "newer")  # another length: Python knows old .pyc files by whole seconds and the source's size
        await eventually(lambda: any("reloaded_app.py changed" in line for line in workers.said))
        after = await client.get("/agents/dev/")
    await pool.close()
    assert (before.text, after.text) == ("old", "newer")
    assert before.headers["x-worker-pid"] != after.headers["x-worker-pid"]
