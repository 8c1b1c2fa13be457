from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from graphs.catalog import AGENTS
from infra.bundle import BOOTSTRAP, LAMBDA, MANIFEST, TASK_ROOT, build, code_of, main, manifest_of, shortfall, size_of
from infra.deployment import extras_of
from infra.prune import SERVICES
from infra.toolchain import interpreter

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

MIB = 2**20
UNCHECKED_HASH = 0b01  # PEP 552: hash-based, source never looked at


def digests(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `cdk deploy` uploads for the demo agent, by the command that users type."""
    out = tmp_path_factory.mktemp("first") / "dev"
    main(["dev", "--out", str(out)])
    return out


def test_a_bundle_fits_its_budget(bundle: Path, tmp_path: Path) -> None:
    """At most 60 MiB unzipped and 22 MiB zipped, so that a cold start has little to load."""
    assert size_of(bundle) <= 60 * MIB
    with zipfile.ZipFile(tmp_path / "asset.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in digests(bundle):
            packed.write(bundle / name, name)
    assert (tmp_path / "asset.zip").stat().st_size <= 22 * MIB


def test_a_bundle_built_elsewhere_is_the_same(bundle: Path, tmp_path: Path) -> None:
    """Byte for byte and mode for mode, in whatever folder: nothing of the machine, the path or the hour is in it."""
    other = tmp_path / "some" / "where" / "else"
    assert build("dev", other) is True
    assert digests(other) == digests(bundle)
    assert [p.stat().st_mode for p in sorted(other.rglob("*"))] == [p.stat().st_mode for p in sorted(bundle.rglob("*"))]
    assert [p.name for p in other.parent.iterdir()] == ["else"], "the scratch folder is gone"


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


def test_endpoints_of_called_services_are_kept(bundle: Path) -> None:
    """What every client reads at its start names the services that a function calls, in all partitions, and no other."""
    partitions = json.loads((bundle / "botocore" / "data" / "endpoints.json").read_bytes())["partitions"]
    assert {"aws", "aws-cn", "aws-us-gov"} <= {partition["partition"] for partition in partitions}
    assert set().union(*(partition["services"] for partition in partitions)) == {*SERVICES}
    assert partitions[0]["regions"].keys() >= {"us-east-1", "eu-central-1"}


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
