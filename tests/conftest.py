"""Fixtures of the whole suite. No test reaches AWS: region, dummy keys and no metadata service are set before boto3 is imported."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# assertions outside of test modules, whose values are shown all the same
pytest.register_assert_rewrite("tests.functions.store.behaviour")
pytest_plugins = ("tests.support.node_clients", "tests.support.streams")

settings.register_profile("nightly", max_examples=10_000, deadline=None)
if profile := os.environ.get("HYPOTHESIS_PROFILE"):  # or pytest's --hypothesis-profile
    settings.load_profile(profile)

for name in [n for n in os.environ if n.startswith(("AWS_", "AGENTS_", "OPENAI_", "ANTHROPIC_", "DEEPSEEK_", "LANGSMITH_", "LANGCHAIN_"))]:
    del os.environ[name]
os.environ |= {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the stories in tests/golden anew")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
