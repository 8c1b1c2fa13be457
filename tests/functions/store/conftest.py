"""The emulators, for every test of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from functions.store.checkpoints import DynamoDBSaver
from tests.support.dynamodb import Dynamo, bucket, dynalite, dynalite_client, dynalite_endpoint, dynamo, moto_client, moto_endpoint, s3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["bucket", "dynalite", "dynalite_client", "dynalite_endpoint", "dynamo", "moto_client", "moto_endpoint", "s3"]

MakeSaver = Callable[..., DynamoDBSaver]


@pytest.fixture
def make_saver(dynamo: Dynamo, s3: S3Client) -> MakeSaver:
    """A saver of its own on this test's table; arguments as the saver's."""

    def make(**options: Any) -> DynamoDBSaver:
        return DynamoDBSaver(dynamo.checkpoints, **({"client": dynamo.client, "objects_client": s3} | options))

    return make


@pytest.fixture
def saver(make_saver: MakeSaver) -> DynamoDBSaver:
    return make_saver()
