"""cdk-nag and strict CloudFormation validation over every option."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infra.deployment import ROOT, Deployment
from tests.infra.option_sets import OPTION_SETS

pytestmark = pytest.mark.infra


def test_every_option_is_in_a_set() -> None:
    """A new one cannot be forgotten, but for names and places, which nobody can judge."""
    names = {"stack", "assets", "table_prefix", "log_level", "sample_knowledge", "jwt_jwks_url"}
    assert {key for context in OPTION_SETS.values() for key in context} == set(Deployment.model_fields) - names


@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_set_has_a_finding() -> None:
    """`python -m tests.infra.option_sets`: none in any set, each acknowledged rule told, and the control's faults are found by both."""
    done = subprocess.run([sys.executable, "-m", "tests.infra.option_sets"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    *sets, control = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    assert [line.partition("  ")[0] for line in sets] == list(OPTION_SETS)
    assert "S1" in control
    assert all("0 findings" in line and "S1" in line for line in sets)
