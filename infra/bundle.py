"""One self-contained folder per agent for Lambda, without Docker: `python -m infra.bundle AGENT --out DIR`.

uv installs the locked wheels of the target machine, what no function reads is dropped, the code is copied, and everything is compiled.
Built twice, in whatever folder, the bundle is byte for byte the same; a folder whose inputs did not change is left alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphs.catalog import AGENTS
from infra.deployment import AUTH_MODES, ROOT, Deployment, extras_of, project_context
from infra.prune import prune
from infra.toolchain import interpreter, run, uv

log = logging.getLogger("infra.bundle")

MANIFEST = ".bundle.json"
BOOTSTRAP = Path("functions/runtime/bootstrap")
_PROGRAMS = (BOOTSTRAP, Path("claude_agent_sdk/_bundled/claude"))
ZIP_LIMIT = 250 * 2**20
"""Bytes that Lambda takes from a zip, unpacked and with its layers."""
TASK_ROOT = "/var/task"
IMAGE = "images/bundle.Dockerfile"
# The recipe is an input too: a change of these files builds anew.
_RECIPE = ("bundle.py", "prune.py", IMAGE)
# The page is for trying an agent on a laptop; Lambda serves the agent's URL only.
_LEFT_OUT = ("functions/web/page",)


@dataclass(frozen=True, slots=True)
class Target:
    """The machine a bundle runs on: uv's platform name and Python's `major.minor`. Python 3.12 and newer run on AL2023, glibc 2.34."""

    platform: str = "aarch64-manylinux_2_28"
    python: str = "3.13"


LAMBDA = Target()


def build(agent: str, out: Path, *, model: str = "offline", auth: str = "iam", target: Target = LAMBDA) -> bool:
    """Make the bundle of `agent` in the folder `out`, replacing what is there. Returns False when it was already up to date.

    Raises `ToolMissing` without uv, `RuntimeError` with uv's own words when a wheel is missing for the target or a hash differs,
    `FileExistsError` when `out` holds something that is not a bundle.
    """
    if out.exists() and not (out / MANIFEST).is_file() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not a bundle of ours and is not empty; it would be replaced")
    extras = extras_of(model, agent, auth)
    requirements = _requirements(extras)
    python = interpreter(target.python)
    manifest = _manifest(agent, extras, target, requirements, compiled=python is not None)
    if _read(out / MANIFEST) == manifest:
        return False
    if python is None:
        log.warning("no Python %s here: %s gets no .pyc and starts 2 s slower; `uv python install %s`", target.python, agent, target.python)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        # filled beside its place and moved there whole, so a build that was killed leaves no half bundle
        fresh = Path(scratch) / "bundle"
        assemble(fresh, requirements, target, python, extras=extras, code=code_of(agent))
        add_dockerfile(agent, fresh)
        (fresh / MANIFEST).write_text(manifest, encoding="utf-8")
        _replace(fresh, out)
    return True


def assemble(
    root: Path, requirements: str, target: Target, python: str | None, *, extras: tuple[str, ...] = (), code: Iterable[Path] = ()
) -> None:
    """Fill the new folder `root`: the wheels of `requirements`, less what no function reads, and the files of `code` (relative to the
    project). `python` compiles them; None leaves that to every cold start."""
    _install(root, requirements, target)
    prune(root, extras)
    _copy_code(code, root)
    _settle_modes(root)
    if python:
        _compile(root, python)


def _requirements(extras: tuple[str, ...]) -> str:
    wanted = [word for extra in extras for word in ("--extra", extra)]
    shape = ["--frozen", "--no-default-groups", "--no-emit-project", "--no-header", "--no-annotate"]
    return run([uv(), "export", "-q", "--project", str(ROOT), *shape, *wanted])


def _install(root: Path, requirements: str, target: Target) -> None:
    listing = root.parent / "requirements.txt"
    listing.write_text(requirements, encoding="utf-8")
    # copied, not hard-linked: a mode set here must not reach into uv's cache
    how = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-installer-metadata", "--link-mode", "copy", "--no-config"]
    where = ["--python-platform", target.platform, "--python-version", target.python, "--python", sys.executable, "--target", str(root)]
    run([uv(), "pip", "install", "-q", *how, *where, "-r", str(listing)])


def code_of(agent: str) -> Iterator[Path]:
    """Files of the project that run in the agent's function, relative to the root, sorted: never another agent's package."""
    others = {_package(name) for name in AGENTS} - {_package(agent)}
    skipped = (*(f"{package}/" for package in others), *(f"{folder}/" for folder in _LEFT_OUT))
    for path in sorted(p for top in ("functions", "graphs") for p in (ROOT / top).rglob("*") if p.is_file()):
        name = path.relative_to(ROOT).as_posix()
        if "__pycache__" not in path.parts and not path.name.startswith(".") and not name.startswith(skipped):
            yield path.relative_to(ROOT)


def _package(agent: str) -> str:
    """Folder of an agent's own package: `graphs.dev.graph:build` → `graphs/dev`."""
    return "/".join(AGENTS[agent].module.partition(":")[0].split(".")[:2])


def _copy_code(code: Iterable[Path], root: Path) -> None:
    for path in code:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, root / path)


def add_dockerfile(agent: str, root: Path) -> None:
    """Where a zip is too small for the bundle: its folder is the build context of an image."""
    if not AGENTS[agent].fits_zip:
        shutil.copyfile(Path(__file__).parent / IMAGE, root / "Dockerfile")


def _settle_modes(root: Path) -> None:
    """The zip keeps modes, and Lambda runs as another user: a file that only its owner may read would fail there."""
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.relative_to(root) in _PROGRAMS else 0o644)


def _compile(root: Path, python: str) -> None:
    """`.pyc` checked by nothing: CDK's zip sets every mtime to 1980, so those checked by time would be stale at every cold start.

    One process, since parallel ones differ from run to run; the names inside are those under /var/task, not this machine's.
    """
    absolute = str(root.resolve())
    mode = ["-q", "--invalidation-mode", "unchecked-hash", "-s", absolute, "-p", TASK_ROOT]
    run([python, "-I", "-m", "compileall", *mode, absolute])


def _replace(fresh: Path, out: Path) -> None:
    if out.exists():
        os.replace(out, fresh.parent / "old")
    os.replace(fresh, out)


def _manifest(agent: str, extras: tuple[str, ...], target: Target, requirements: str, *, compiled: bool) -> str:
    """What the bundle was made of. It holds no time and no path, so it is as reproducible as the rest."""
    digest = hashlib.sha256(requirements.encode())
    for path in [*(Path(__file__).parent / name for name in _RECIPE), *(ROOT / p for p in code_of(agent))]:
        digest.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes())
    content = {"agent": agent, "compiled": compiled, "extras": extras, "inputs": digest.hexdigest()}
    return json.dumps(content | {"platform": target.platform, "python": target.python}, indent=2) + "\n"


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def manifest_of(root: Path) -> dict[str, Any] | None:
    """What the bundle in `root` was made of (agent, extras, platform, python, inputs), or None where there is none."""
    text = _read(root / MANIFEST)
    return json.loads(text) if text else None


def shortfall(agent: str, folder: Path, model: str, auth: str = "iam") -> str | None:
    """What `folder` lacks to be the bundle of `agent` with `model` and `auth`, with the command that mends it, or None."""
    manifest = manifest_of(folder)
    missing = set(extras_of(model, agent, auth)) - set(manifest["extras"] if manifest else ())
    if manifest and not missing:
        return None
    lack = f"the bundle in {folder} lacks {', '.join(sorted(missing))}" if manifest else f"no bundle in {folder}"
    return f"{agent}: {lack}; run `python -m infra.bundle {agent} --model {model} --auth {auth} --out {folder}`"


def size_of(root: Path) -> int:
    """Bytes of all files, as Lambda counts them against its 250 MB."""
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def main(argv: Sequence[str] | None = None) -> None:
    deployment = Deployment.model_validate(project_context())
    parser = argparse.ArgumentParser(prog="python -m infra.bundle", description="Build what `cdk deploy` uploads.")
    parser.add_argument("agent", nargs="?", choices=list(AGENTS), help="one agent (default: every agent that cdk.json asks for)")
    parser.add_argument("--out", type=Path, help="folder of the bundle; of one folder per agent when no agent is named")
    parser.add_argument("--model", default=deployment.model, help="provider:model, whose client is put in (default: cdk.json's)")
    parser.add_argument("--auth", default=deployment.auth, choices=AUTH_MODES, help="`jwt` puts its verifier in (default: cdk.json's)")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for agent in [options.agent] if options.agent else [agent for agent in deployment.agents if agent not in deployment.images]:
        folder = options.out or ROOT / deployment.assets
        out = (folder if options.agent and options.out else folder / agent).resolve()
        changed = build(agent, out, model=options.model, auth=options.auth)
        size = size_of(out)
        log.info("%s: %s, %.1f MiB in %s", agent, "built" if changed else "unchanged", size / 2**20, out)
        if size > ZIP_LIMIT:
            log.warning(
                "%s: Lambda takes %d MiB from a zip; this is for a container image: docker build %s", agent, ZIP_LIMIT // 2**20, out
            )


if __name__ == "__main__":
    main()
