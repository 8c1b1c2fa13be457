"""moto, for the tests that need a real table."""

from __future__ import annotations

from tests.support.dynamodb import dynamo, moto_client, moto_endpoint

__all__ = ["dynamo", "moto_client", "moto_endpoint"]
