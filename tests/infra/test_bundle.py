from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from graphs.catalog import AGENTS
from infra.bundle import BOOTSTRAP, LAMBDA, MANIFEST, TASK_ROOT, Target, build, code_of, main, manifest_of, shortfall, size_of
from infra.deployment import extras_of
from infra.local.runtime_api import RuntimeApi
from infra.toolchain import interpreter
from tests.support.events import url_event
from tests.support.runtime import ask

pytestmark = pytest.mark.timeout(300)

MIB = 2**20
UNCHECKED_HASH = 0b01  # PEP 552: hash-based, source never looked at
PLATFORMS = {
    ("Linux", "x86_64"): "x86_64-manylinux_2_28",
    ("Linux", "aarch64"): "aarch64-manylinux_2_28",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Windows", "AMD64"): "x86_64-pc-windows-msvc",
}


def digests(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `cdk deploy` uploads for the demo agent, by the command that users type."""
    out = tmp_path_factory.mktemp("first") / "dev"
    main(["dev", "--out", str(out)])
    return out


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The same lock built for this machine, and an interpreter without packages to run it: Lambda's version, or ours for want of it."""
    python, version = interpreter(LAMBDA.python), LAMBDA.python
    if python is None:
        python, version = str(getattr(sys, "_base_executable", sys.executable)), f"{sys.version_info.major}.{sys.version_info.minor}"
    out = tmp_path_factory.mktemp("here") / "task"
    build("dev", out, target=Target(PLATFORMS[platform.system(), platform.machine()], version))
    return out, python


@pytest.mark.long
def test_a_bundle_fits_its_budget(bundle: Path, tmp_path: Path) -> None:
    """At most 60 MiB unzipped and 22 MiB zipped, so that a cold start has little to load."""
    assert size_of(bundle) <= 60 * MIB
    with zipfile.ZipFile(tmp_path / "asset.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in digests(bundle):
            packed.write(bundle / name, name)
    assert (tmp_path / "asset.zip").stat().st_size <= 22 * MIB


@pytest.mark.long
def test_a_bundle_built_elsewhere_is_the_same(bundle: Path, tmp_path: Path) -> None:
    """Byte for byte and mode for mode, in whatever folder: nothing of the machine, the path or the hour is in it."""
    other = tmp_path / "some" / "where" / "else"
    assert build("dev", other) is True
    assert digests(other) == digests(bundle)
    assert [p.stat().st_mode for p in sorted(other.rglob("*"))] == [p.stat().st_mode for p in sorted(bundle.rglob("*"))]
    assert [p.name for p in other.parent.iterdir()] == ["else"], "the scratch folder is gone"


@pytest.mark.long
def test_an_unchanged_bundle_is_left_alone(bundle: Path) -> None:
    """The second build does nothing; one of other inputs does."""
    before = (bundle / MANIFEST).stat().st_mtime_ns
    assert build("dev", bundle) is False
    assert (bundle / MANIFEST).stat().st_mtime_ns == before


def test_a_bundle_holds_what_runs_and_nothing_else(bundle: Path) -> None:
    """Code and dependencies of this agent; no scripts, no installer records, no page, no CDK, no test, no other agent."""
    names = set(digests(bundle))
    assert {"functions/entry.py", "functions/runtime/loop.py", "graphs/dev/graph.py", "graphs/catalog.py"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert {"langgraph", "boto3", "fastapi", "ag_ui", "mangum"} <= tops
    assert not tops & {"bin", "infra", "tests", "zstandard", "aws_cdk", "moto", "uvicorn", "langchain_openai"}
    unwanted = ("/RECORD", "/direct_url.json", ".lock", ".pyi", "/tests/", "functions/web/page/", "graphs/react/")
    assert [name for name in names if any(part in name for part in unwanted)] == []
    assert {path.name for path in (bundle / "botocore" / "data").iterdir() if path.is_dir()} >= {"dynamodb", "s3", "sts"}


def test_binaries_are_lambdas(bundle: Path) -> None:
    """Every extension module is for 64-bit ARM, whatever machine built it: Lambda would not load another."""
    modules = list(bundle.rglob("*.so"))
    assert len(modules) > 5
    assert {module.read_bytes()[18:20] for module in modules} == {b"\xb7\x00"}, "e_machine of the ELF header"


def test_files_are_readable_by_lambdas_user(bundle: Path) -> None:
    """Everything is world-readable and only the bootstrap is executable: the zip keeps the modes."""
    files = {p.relative_to(bundle): p.stat().st_mode & 0o777 for p in bundle.rglob("*") if p.is_file()}
    assert files[BOOTSTRAP] == 0o755
    assert {mode for path, mode in files.items() if path not in (BOOTSTRAP, Path(MANIFEST))} == {0o644}


def test_compiled_files_are_never_checked(bundle: Path) -> None:
    """With Lambda's Python on this machine every module has a `.pyc` that is valid whatever its mtime, and names /var/task."""
    compiled = list(bundle.rglob("*.pyc"))
    sources = list(bundle.rglob("*.py"))
    assert len(compiled) == (len(sources) if interpreter(LAMBDA.python) else 0)
    heads = {path.read_bytes()[4:8] for path in compiled}
    assert heads <= {UNCHECKED_HASH.to_bytes(4, "little")}
    assert all(TASK_ROOT.encode() in path.read_bytes() and str(bundle.parent).encode() not in path.read_bytes() for path in compiled)


@asynccontextmanager
async def environment(task: Path, python: str) -> AsyncIterator[RuntimeApi]:
    """A Lambda environment as AWS starts it: the exec wrapper with the interpreter, its variables, and nothing of this project's own."""
    api = RuntimeApi()
    await api.start()
    variables = {
        "LAMBDA_TASK_ROOT": str(task),
        "LAMBDA_RUNTIME_DIR": str(task / "no-such-runtime"),
        "AWS_LAMBDA_RUNTIME_API": api.address,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "_HANDLER": "functions.entry.app",
        "AGENTS_NAME": "dev",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": os.environ["PATH"],
    }
    bash = shutil.which("bash") or "bash"
    process = await asyncio.create_subprocess_exec(bash, str(task / BOOTSTRAP), python, cwd=tempfile.gettempdir(), env=variables)
    ended = asyncio.create_task(_close_with(process, api))
    try:
        yield api
    finally:
        if process.returncode is None:
            process.kill()
        await ended


async def _close_with(process: asyncio.subprocess.Process, api: RuntimeApi) -> None:
    """A process that ends fails what waits for it, as an environment that is lost does."""
    await process.wait()
    await api.close()


@pytest.mark.long
async def test_a_bundle_runs_by_itself(here: tuple[Path, str]) -> None:
    """Started by its own bootstrap, outside of the repository and its environment, the bundle answers through the Runtime API."""
    async with environment(*here) as api, asyncio.timeout(120):
        reply = await ask(api, url_event(path="/info"))
    assert reply.prelude.status == 200
    assert json.loads(reply.body)["name"] == "dev"


@pytest.mark.parametrize("agent", AGENTS)
def test_no_agent_carries_another(agent: str) -> None:
    """An agent's own package is in its code, the others' are not; the shared rooms are."""
    names = {path.as_posix() for path in code_of(agent)}
    own = AGENTS[agent].module.partition(":")[0].replace(".", "/") + ".py"
    others = {spec.module.partition(":")[0].replace(".", "/") + ".py" for spec in AGENTS.values()} - {own}
    assert own in names
    assert not names & others
    assert {"graphs/stream/transformer.py", "functions/store/tables.py", BOOTSTRAP.as_posix()} <= names
    assert not any("__pycache__" in name for name in names)


@pytest.mark.parametrize(
    ("model", "extras"),
    [("offline", ()), ("openai:gpt-5", ("openai",)), ("deepseek:chat", ("deepseek",)), ("bedrock_converse:x:1", ("bedrock",))],
)
def test_a_model_decides_the_extras(model: str, extras: tuple[str, ...]) -> None:
    """Only the client of the model's provider goes into the bundle."""
    assert extras_of(model) == extras


@pytest.mark.parametrize("model", ["gpt-5", "openai", "openai:", "nobody:x"])
def test_a_model_without_a_carrier_is_named(model: str) -> None:
    """A model that no extra serves is an error at build time, not at the first run on AWS."""
    with pytest.raises(ValueError, match=model):
        extras_of(model)


@pytest.mark.parametrize(
    ("held", "model", "auth", "lack"),
    [
        (None, "offline", "iam", "no bundle in"),
        ([], "offline", "iam", None),
        ([], "openai:gpt-5", "iam", "lacks openai"),
        (["openai"], "openai:gpt-5", "iam", None),
        (["openai"], "offline", "none", None),
        (["openai"], "openai:gpt-5", "jwt", "lacks jwt"),
        (["jwt"], "offline", "jwt", None),
    ],
)
def test_what_a_bundle_lacks_is_said_with_its_remedy(
    tmp_path: Path, held: list[str] | None, model: str, auth: str, lack: str | None
) -> None:
    """A deployment that needs more than was bundled is told the command that bundles it."""
    if held is not None:
        (tmp_path / MANIFEST).write_text(json.dumps({"extras": held}), encoding="utf-8")
    problem = shortfall("dev", tmp_path, model, auth)
    assert (problem is None) == (lack is None)
    assert lack is None or (
        problem and lack in problem and f"python -m infra.bundle dev --model {model} --auth {auth} --out {tmp_path}" in problem
    )


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    """`--out` at a folder with other files in it is refused, and the files are still there."""
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(FileExistsError, match="not a bundle"):
        build("dev", tmp_path)
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"
    assert manifest_of(tmp_path) is None
