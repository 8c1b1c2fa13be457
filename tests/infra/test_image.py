"""An agent as a container image: its template, and its Dockerfile as far as it can be played without Docker."""

from __future__ import annotations

import asyncio
import json
import platform
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from functions.store.tables import create_tables
from infra import bundle as bundling
from infra.bundle import LAMBDA, MANIFEST, Target, build
from infra.local.runtime_api import RuntimeApi
from infra.toolchain import interpreter
from tests.infra.images import Image, play
from tests.infra.templates import Synth, actions, properties, resources, variables
from tests.support.bundles import PLATFORMS
from tests.support.events import url_event
from tests.support.moto_server import moto_server
from tests.support.runtime import ask
from tests.support.sse import read_sse

pytestmark = pytest.mark.timeout(600)

DOCKERFILE = Path(bundling.__file__).parent / bundling.IMAGE
DIGEST = f"sha256:{'0a' * 32}"
URI = "210987654321.dkr.ecr.eu-west-1.amazonaws.com/agents/claude"


@pytest.mark.infra
@pytest.mark.parametrize("image", [None, f"{URI}:2026-12", f"{URI}@{DIGEST}"], ids=["built", "tag", "digest"])
def test_a_function_of_an_image(synth: Synth, image: str | None) -> None:
    """PackageType Image and its URI, and nothing that only a zip has; URL, alias, version and role as every agent's. Docker is not asked
    at synthesis, SnapStart is left out: Lambda has none for images."""
    given = {"images": {"claudeAgent": image}} if image else {}
    template = synth(agents="dev,claudeAgent", snap_start=True, **given)
    function = properties(template, "AWS::Lambda::Function", "agents/claudeAgent/")
    assert function["PackageType"] == "Image"
    assert not {"Handler", "Runtime", "Layers", "SnapStart"} & function.keys()
    assert function["Architectures"] == ["arm64"]
    uri = json.dumps(function["Code"]["ImageUri"])
    wanted = ["210987654321.dkr.ecr.eu-west-1.", "/agents/claude", image[len(URI) :]] if image else ["cdk-hnb659fds-container-assets-"]
    assert [part for part in wanted if part not in uri] == []
    assert "AWS_LAMBDA_EXEC_WRAPPER" not in variables(template, "claudeAgent")
    assert actions(template, "claudeAgent") == actions(template, "dev")
    assert properties(template, "AWS::Lambda::Url", "agents/claudeAgent/")["InvokeMode"] == "RESPONSE_STREAM"
    assert len(resources(template, "AWS::Lambda::Version", "agents/claudeAgent/")) == 1
    assert properties(template, "AWS::Lambda::Function", "agents/dev/")["SnapStart"] == {"ApplyOn": "PublishedVersions"}


@pytest.mark.infra
def test_an_image_of_ones_own_needs_no_bundle(synth: Synth, tmp_path: Path) -> None:
    """The CLI's check lets it through, and asks for a bundle where an image has to be built."""
    from infra.app import build_app, require_bundles

    wanted = {"agents": "claudeAgent", "assets": str(tmp_path)}
    require_bundles(build_app(wanted | {"images": {"claudeAgent": f"{URI}:1"}}, outdir=str(tmp_path / "a")))
    with pytest.raises(SystemExit, match=r"python -m infra\.bundle claudeAgent"):
        require_bundles(build_app(wanted, outdir=str(tmp_path / "b")))


@pytest.mark.parametrize(("agent", "has"), [("claudeAgent", True), ("dev", False)])
def test_the_dockerfile_is_in_the_bundle_that_needs_it(tmp_path: Path, agent: str, has: bool) -> None:
    """So the bundle's folder is the whole build context, for the CDK's command line and by hand."""
    bundling.add_dockerfile(agent, tmp_path)
    assert (tmp_path / "Dockerfile").is_file() is has
    assert not has or (tmp_path / "Dockerfile").read_bytes() == DOCKERFILE.read_bytes()


def test_the_dockerfile_runs_nothing_while_it_is_built(tmp_path: Path) -> None:
    """FROM, COPY, WORKDIR and ENTRYPOINT alone, so any machine builds it for ARM; the base is Lambda's own for the bundle's Python."""
    context = tmp_path / "context"
    context.mkdir()
    (context / "a.py").touch()
    image = play(DOCKERFILE, context, tmp_path / "root")
    assert image.base == f"public.ecr.aws/lambda/python:{LAMBDA.python}-arm64"
    assert (image.working_folder / "a.py").is_file()
    assert image.folder == bundling.TASK_ROOT
    assert image.command("python")[1:] == ["-m", "functions.runtime"]
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("FROM a\nRUN pip install b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="RUN pip"):
        play(dockerfile, context, tmp_path / "root")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, str]:
    """claudeAgent's image laid out from its real bundle, built for this machine; files of the root are for reading, as Lambda has them."""
    python = interpreter(LAMBDA.python)
    if python is None:
        pytest.fail(f"no Python {LAMBDA.python}: uv python install {LAMBDA.python}")
    context, root = tmp_path_factory.mktemp("claude") / "claudeAgent", tmp_path_factory.mktemp("root")
    build("claudeAgent", context, target=Target(PLATFORMS[platform.system(), platform.machine()], LAMBDA.python))
    (context / MANIFEST).unlink()  # the stack leaves it out
    played = play(context / "Dockerfile", context, root)
    for path in [root, *root.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
    return played, python


@asynccontextmanager
async def environment(image: Image, python: str, endpoint: str) -> AsyncIterator[RuntimeApi]:
    """As Lambda starts an image: its entrypoint in its folder, no handler, no home, nothing of this project's environment."""
    api = RuntimeApi()
    await api.start()
    lambdas = {
        "AWS_LAMBDA_RUNTIME_API": api.address,
        "AWS_LAMBDA_FUNCTION_NAME": "claude",
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": endpoint,
        "AGENTS_NAME": "claudeAgent",
        "AGENTS_AUTH": "iam",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": tempfile.gettempdir(),
        "HOME": "/no/such/home",
    }
    process = await asyncio.create_subprocess_exec(*image.command(python), cwd=image.working_folder, env=lambdas)
    try:
        yield api
    finally:
        process.kill()
        await process.wait()
        await api.close()


def _asked(text: str) -> dict[str, Any]:
    said = [{"id": "m", "role": "user", "content": text}]
    body = {"threadId": "t", "runId": "r", "messages": said, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    event = url_event("/", method="POST", body=json.dumps(body))
    event["headers"]["content-type"] = "application/json"
    event["requestContext"]["authorizer"] = {"iam": {"userArn": "arn:aws:iam::123456789012:user/ann"}}
    return event


def _files(image: Image) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in image.root.rglob("*")}


@pytest.mark.long
async def test_the_image_runs_the_sdk(image: tuple[Image, str]) -> None:
    """The entrypoint starts the agent from the read-only layout; the SDK's own command line runs a tool and answers, offline."""
    before = _files(image[0])
    with moto_server() as endpoint:
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
        create_tables(session.client("dynamodb", endpoint_url=endpoint), "agents-")
        async with environment(*image, endpoint) as api, asyncio.timeout(240):
            reply = await ask(api, _asked("Run: pwd"))
    events = list(read_sse(reply.body))
    assert (events[-1]["type"], reply.prelude.status) == ("RUN_FINISHED", 200), events
    assert [one["content"] for one in events if one["type"] == "TOOL_CALL_RESULT"] == [str(image[0].working_folder.resolve())]
    assert _files(image[0]) == before, "the layout is for reading: root may write, and did not"
