"""The OpenAPI document and the function say the same: schemathesis asks for all that the document allows, and for what it does not."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from langgraph.checkpoint.memory import InMemorySaver
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from functions.settings import Settings
from functions.web import create_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    unsupported_method,
]
EXAMPLES = 20
"""Of each operation; ten thousand with `HYPOTHESIS_PROFILE=nightly`."""


def _schema() -> Any:
    app = create_app("dev", Settings(auth="none", offline_delay_ms=0), checkpointer=InMemorySaver())
    return schemathesis.openapi.from_asgi("/openapi.json", app)


SCHEMA = _schema()
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("label", OPERATIONS)
def test_an_operation_is_as_documented(label: str) -> None:
    """Its statuses, content types and schemas; never a 5xx."""
    examples = settings().max_examples if settings.get_current_profile_name() == "nightly" else EXAMPLES
    quiet = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

    @settings(max_examples=examples, derandomize=True, **quiet)  # type: ignore[arg-type]  # each is of its own type
    @given(case=OPERATIONS[label].as_strategy())
    def as_documented(case: Any) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    as_documented()


def test_every_route_is_documented() -> None:
    """But for those of other protocols: the function's own events, CopilotKit's paths, the page of the document."""
    assert len(OPERATIONS) >= 15
