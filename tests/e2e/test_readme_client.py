"""The README's frontend snippet does what it says, as written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.local_stack import Stack
from tests.support.node_clients import PACKAGE, RunNode

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
WRITTEN_URL = "http://127.0.0.1:8000/agents/dev/"


@pytest.mark.node
def test_the_typescript_client(stack: Stack, node: RunNode) -> None:
    """Only the port is another: it prints the types of a whole run."""
    (snippet,) = re.findall(r"^```ts\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert snippet.count(WRITTEN_URL) == 1
    script = PACKAGE / ".cache" / "readme.ts"  # below the package, so that the import of the client resolves
    script.parent.mkdir(exist_ok=True)
    script.write_text(snippet.replace(WRITTEN_URL, stack.agent("dev")), "utf-8")
    done = node(script)
    types = done.stdout.split()
    assert (done.returncode, types[0], types[-1]) == (0, "RUN_STARTED", "RUN_FINISHED"), done.stderr
