"""What can go wrong in the store, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import ClientError

THROTTLED = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})
DENIED = frozenset({"AccessDeniedException", "AccessDenied", "UnrecognizedClientException"})


class StoreError(Exception):
    """A read or write of the store failed; the message says what to do."""


class TableMissing(StoreError):
    """The table does not exist where the client looks."""


class Throttled(StoreError):
    """DynamoDB refused the call for its rate, also after retries."""


class PayloadMissing(StoreError):
    """A stored checkpoint points to a payload that is not there."""


class ThreadBusy(StoreError):
    """Another run has the thread, for `seconds` more unless it renews its lease. `request_key`: of the request that has started it."""

    def __init__(self, run_id: str, seconds: float, request_key: str = "") -> None:
        super().__init__(f"Run {run_id!r} is running on this thread. Wait for its end, or stop it.")
        self.run_id, self.seconds, self.request_key = run_id, seconds, request_key


class LeaseLost(StoreError):
    """This run gave no sign of life for longer than its lease, and another has taken the thread over: it must not write any more."""

    def __init__(self) -> None:
        super().__init__("Another run has taken this thread over. Nothing that this run does from here on is stored.")


class AncestorMissing(StoreError):
    """A stored checkpoint is rebuilt from an ancestor that is not there."""


@contextmanager
def explained(name: str, endpoint: str) -> Iterator[None]:
    """Turns the AWS errors with a known remedy into a `StoreError`; the others pass as they are. `name`: of the table or bucket."""
    try:
        yield
    except ClientError as error:
        explanation = _explain(error, name, endpoint)
        if explanation is None:
            raise
        raise explanation from error


def refused(error: ClientError) -> bool:
    """A condition did not hold."""
    return error_code(error) == "ConditionalCheckFailedException"


def error_code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")


def _explain(error: ClientError, name: str, endpoint: str) -> StoreError | None:
    code = error_code(error)
    if code == "ResourceNotFoundException":
        return TableMissing(
            f"DynamoDB table {name!r} does not exist at {endpoint}. Create it with `cdk deploy` or "
            "`functions.store.tables.create_tables(client, prefix)`, or correct AGENTS_TABLE_PREFIX or AWS_REGION."
        )
    if code == "NoSuchBucket":
        return StoreError(f"S3 bucket {name!r} does not exist at {endpoint}. Create it with `cdk deploy`, or correct AGENTS_BUCKET.")
    if code in THROTTLED:
        return Throttled(
            f"DynamoDB throttled {error.operation_name} on table {name!r} and retries did not help. "
            "Use on-demand capacity or raise the table's limit; one partition (a thread) takes 1,000 write units a second."
        )
    if code in DENIED:
        return StoreError(f"AWS denied {error.operation_name} on {name!r} ({code}): allow the action in the role's policy.")
    return None
