"""What a program pays that serves a graph of its own."""

from __future__ import annotations

import subprocess
import sys


def test_runs_do_not_load_boto3() -> None:
    """Nor its HTTP machinery: a graph with another checkpointer needs neither."""
    found = "import sys, functions.runs; print(sorted({'boto3', 'botocore.config', 'fastapi', 'aws_cdk'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", found], check=True, capture_output=True, text=True).stdout == "[]\n"
