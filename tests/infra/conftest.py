"""One Node process for all of the synthesis: it takes 500 MB and seconds to start, every further app a fraction of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphs.catalog import AGENTS
from infra.bundle import MANIFEST
from tests.infra.templates import Synth, Template


def fake_bundle(folder: Path, text: str = "", extras: tuple[str, ...] = ()) -> Path:
    """A folder that passes for a bundle: the stack looks at its manifest and uploads the rest unread."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).write_text(json.dumps({"extras": extras}), encoding="utf-8")
    (folder / "code.py").write_text(f"# {text}\n", encoding="utf-8")
    return folder


def fake_bundles(root: Path) -> Path:
    """One for each agent, below `root`."""
    for agent, spec in AGENTS.items():
        bundle = fake_bundle(root / agent, agent, spec.extras)
        if not spec.fits_zip:
            (bundle / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundles(tmp_path_factory.mktemp("assets"))


@pytest.fixture(scope="session")
def synth(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synth]:
    """`synth(**context)` makes the template with fake bundles; the same context is synthesised once."""
    made: dict[str, Template] = {}

    def template(**context: object) -> Template:
        key = json.dumps(context, sort_keys=True)
        if key not in made:
            from infra.app import build_app

            outdir = str(tmp_path_factory.mktemp("cdk"))
            made[key] = build_app({"assets": str(assets)} | context, outdir=outdir).synth().stacks[0].template
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        # Node reads both when it starts; the validator costs 3 s and has a test of its own
        patch.setenv("CDK_VALIDATION", "false")
        patch.setenv("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
        yield template
