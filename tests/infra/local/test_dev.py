"""The whole command, with small functions in the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.local_stack import ROOT, Stack, running_stack

from .conftest import APP, is_running, waited


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=60, trust_env=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def stack(folder: Path) -> Iterator[Stack]:
    variables = {"_HANDLER": APP, "AGENTS_DATA_DIR": str(folder / "kept"), "AWS_PROFILE": "nobody", "HTTP_PROXY": "http://127.0.0.1:1"}
    with running_stack(folder, "--cors-origin", "http://chosen.test", **variables) as up:
        yield up


def test_what_is_printed(stack: Stack, folder: Path) -> None:
    """The page, a function URL per agent, that the model is the offline one, where the data is."""
    assert waited(lambda: "Ctrl-C" in stack.printed())
    printed = stack.printed()
    for part in (f"{stack.url}/\n", stack.agent("dev"), stack.agent("reactAgent"), "offline", str(folder / "kept")):
        assert part in printed


def test_a_function_finds_its_environment(stack: Stack) -> None:
    """Workers reach the local store and nothing of the user's AWS; who calls is not asked."""
    found = get(stack.agent("dev") + "environ").json()
    assert found["AGENTS_NAME"] == "dev"
    assert found["AGENTS_AUTH"] == "none"
    assert found["AWS_ENDPOINT_URL_DYNAMODB"].startswith("http://127.0.0.1:")
    assert not found.keys() & {"AWS_PROFILE", "AWS_ENDPOINT_URL", "HTTP_PROXY"}


@pytest.mark.parametrize(
    ("origin", "allowed"), [("http://localhost:5173", True), ("http://chosen.test", True), ("http://evil.test", False)]
)
def test_pages_of_the_world_may_not_read(stack: Stack, origin: str, allowed: bool) -> None:
    """Nobody is asked who they are here, so only pages of this machine, and the chosen ones, may call."""
    asked = {"origin": origin, "access-control-request-method": "POST"}
    answered = httpx.options(stack.agent("dev"), headers=asked, trust_env=False)
    assert answered.headers.get("access-control-allow-origin") == (origin if allowed else None)


def test_another_name_is_refused(stack: Stack) -> None:
    """Also if it points to this machine."""
    answered = httpx.get(stack.url, headers={"host": "evil.test"}, trust_env=False)
    assert answered.status_code == 403
    assert "'evil.test' is not its name" in answered.json()["error"]["message"]


def test_a_second_one_names_the_flag(stack: Stack) -> None:
    """With the port taken the command ends at once, with 2, and says which port to try."""
    port = stack.url.rpartition(":")[2]
    ended = subprocess.run(
        [sys.executable, "-m", "infra.cli", "dev", "--port", port, "--ephemeral"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert f"Port {port} is in use. Try: agents dev --port " in ended.stderr


def test_a_second_one_in_the_same_folder_is_refused(stack: Stack, folder: Path) -> None:
    """The data belongs to one at a time: the message names the holder and the ways out."""
    environment = {**os.environ, "AGENTS_DATA_DIR": str(folder / "kept")}
    command = [sys.executable, "-m", "infra.cli", "dev", "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False, env=environment)
    assert ended.returncode == 1
    assert "in use by process" in ended.stderr
    assert "--ephemeral" in ended.stderr


def test_a_killed_parent_leaves_no_orphans(stack: Stack) -> None:
    """SIGKILL of the command ends its workers, what they started, and the store."""
    answered = get(stack.agent("reactAgent") + "child").json()
    store = Path(stack.log.parent / "kept" / "pid").read_text()
    children = [answered["pid"], answered["child"], int(store)]
    assert all(map(is_running, children))
    stack.process.send_signal(signal.SIGKILL)
    stack.process.wait()
    assert waited(lambda: not any(map(is_running, children))), children


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    """SIGINT in the middle of a stream: exit code 0, no process is left, nothing alarming is printed."""
    with running_stack(tmp_path, "--ephemeral", "--agent", "dev", _HANDLER=APP) as stack:
        with httpx.stream("GET", stack.agent("dev") + "stream?n=100&gap=0.1", timeout=60, trust_env=False) as response:
            next(response.iter_raw())
            pid = int(response.headers["x-worker-pid"])
            assert stack.stop() == 0
        assert waited(lambda: not is_running(pid))
        assert "Traceback" not in stack.printed()
        assert "kept in memory only" in stack.printed()
        assert "reactAgent" not in stack.printed()


def test_ctrl_c_during_the_start(tmp_path: Path) -> None:
    """SIGINT before the store answers ends the command at once, well, and without a process left."""
    command = [sys.executable, "-m", "infra.cli", "dev", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AGENTS_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        assert process.stderr is not None
        assert "Starting the store" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 0
    assert said == "Stopping …\n"
